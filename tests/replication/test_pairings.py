"""A replica has what its master has, whichever of the two is a StrataKV and whichever a Redis.

The commands are those that are compared with Redis elsewhere; here the master alone gets them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, seed

from tests.differential.sequences import sequences
from tests.differential.strategies import GROUPS
from tests.differential.templates import Args
from tests.harness.servers import Process, RedisServer, StrataServer
from tests.replication.fleet import contents, follow, libraries, wait_in_step

PAIRINGS = {
    "strata-strata": (StrataServer, StrataServer),
    "strata-redis": (StrataServer, RedisServer),
    "redis-strata": (RedisServer, StrataServer),
}
UNFIT = {"connection", "pubsub", "server"}
"""Groups whose commands end connections, or write nothing."""


@pytest.fixture(scope="module", params=PAIRINGS)
def pairing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Process, Process]]:
    place: Path = tmp_path_factory.mktemp(request.param)
    kinds = PAIRINGS[request.param]
    master = kinds[0](place / "master").start()
    replica = kinds[1](place / "replica").start()
    follow(replica, master)
    yield master, replica
    replica.stop()
    master.stop()


def is_told(args: Args) -> bool:
    """Redis makes a key for a BITFIELD of which all parts fail, and does not tell its replicas."""
    return args[0].upper() != b"BITFIELD" or b"FAIL" not in [word.upper() for word in args]


@pytest.mark.slow
@pytest.mark.effort
@pytest.mark.parametrize("group", sorted(set(GROUPS) - UNFIT))
def test_a_replica_has_what_its_master_has(
    group: str, pairing: tuple[Process, Process], diff_seed: int
) -> None:
    master, replica = pairing
    master_is_ours = isinstance(master, StrataServer)

    @seed(diff_seed)
    @given(sequences(group))
    def same(commands: list[Args]) -> None:
        with master.client() as client:
            client.send("FLUSHALL")
            client.send("FUNCTION", "FLUSH")
            client.pipeline([one for one in commands if is_told(one) or master_is_ours])
        wait_in_step(master, replica)
        with master.client() as leader, replica.client() as follower:
            assert contents(follower) == contents(leader)
            assert libraries(follower) == libraries(leader)

    same()
    assert "failed here" not in replica.output()
