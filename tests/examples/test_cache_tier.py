"""The run with the cache tier on really is one: examples write and read through the Redis."""

from __future__ import annotations

import pytest
import redis

from examples.transcode import sample
from examples.transcode.model import fragments_key
from examples.transcode.store import Tracker, connect
from tests.harness.servers import RedisServer

CACHE_DB, SCORES_DB = 0, 1


@pytest.mark.parametrize("example_server", ["cached"], indirect=True)
def test_hashes_are_cached_and_scores_are_kept_in_the_redis(url: str, tier: RedisServer) -> None:
    with connect(url) as client:
        tracker = Tracker(client)
        video = sample.fill(tracker, hosts=2, videos=1, seed=1)[0]
        assert list(tracker.videos().videos) == [video]
        assert tracker.fragments(video, 200).fragments
    assert _holds(tier, CACHE_DB, "x100speed_hash_videoid")
    assert _holds(tier, SCORES_DB, fragments_key(video, 200))


def _holds(tier: RedisServer, database: int, key: str) -> bool:
    """Whether the Redis has an entry of a client's key; its name is in the entry's name."""
    with redis.Redis(port=tier.port, db=database) as client:
        return any(b"{%b}" % key.encode() in name for name in client.scan_iter())
