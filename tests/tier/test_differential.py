"""Every encode-version answers random commands as Redis does: tier on, off, and emptied at random.

Versions that write blindly answer as version 1 does, so that is what they are compared with. In
versions 2 and 3 of sorted sets, members of 15 bytes and more come after shorter ones of the same
score, in the order of their hashes: their long members are chosen so that this is Redis's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from hashlib import md5
from pathlib import Path

import pytest
from hypothesis import given, seed, settings

from tests.differential.alphabets import LONG
from tests.differential.runner import Pair
from tests.differential.sequences import sequences
from tests.differential.templates import Args
from tests.harness.effort import rounds
from tests.harness.servers import Process, RedisServer, StrataServer
from tests.tier.servers import VERSIONS, flushing, start_strata

GROUPS = {
    "hash": ("hashes", "keys"),
    "set": ("sets", "sorting"),
    "zset": ("zsets", "zset_ranges", "zset_algebra", "geo", "keys", "sorting"),
}
BLIND = {"hash-3": ("--hash-encoding", "1"), "set-3": ("--set-encoding", "1")}
_LOW, _HIGH = next(
    (low, high)
    for low, high in ((b"~a-long-member-%d" % n, b"~b-long-member-%d" % n) for n in range(99))
    if md5(low).digest() < md5(high).digest()
)
OTHER_NAMES = {LONG.encode(): _LOW, b"exactly-15-byte": _HIGH}
CASES = [(version, group) for version in VERSIONS for group in GROUPS[version.split("-")[0]]]


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("tier") / "data").start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def servers(tier: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    found = Servers(tier, tmp_path_factory.mktemp("strata"))
    yield found
    found.stop()


class Servers:
    """One StrataKV per version, and per blind one its oracle, started when first wanted."""

    def __init__(self, tier: RedisServer, directory: Path) -> None:
        self.tier = tier
        self.directory = directory
        self.running: dict[str, StrataServer] = {}

    def of(self, version: str) -> StrataServer:
        if version not in self.running:
            self.running[version] = start_strata(
                self.directory / version, self.tier, *VERSIONS[version]
            )
        return self.running[version]

    def oracle(self, version: str, redis: Process) -> Process:
        if version not in BLIND:
            return redis
        name = version + "-oracle"
        if name not in self.running:
            directory = self.directory / name
            self.running[name] = StrataServer(directory, flags=BLIND[version]).start()
        return self.running[name]

    def stop(self) -> None:
        for server in self.running.values():
            server.stop()


def _with_other_names(sequence: list[Args]) -> list[Args]:
    return [tuple(OTHER_NAMES.get(word, word) for word in args) for args in sequence]


@pytest.mark.effort
@pytest.mark.parametrize("weather", ["on", "off", "flushed"])
@pytest.mark.parametrize(("version", "group"), CASES)
def test_random_commands_get_the_replies_of_redis(
    version: str,
    group: str,
    weather: str,
    servers: Servers,
    redis_server: Process,
    diff_seed: int,
) -> None:
    if weather == "off" and version == "zset-3":
        pytest.skip("version 3 has no scores without its Redis")
    subject = servers.of(version)
    pair = Pair(servers.oracle(version, redis_server).client, subject.client, 3)
    url = f"redis://127.0.0.1:{servers.tier.port}/0"
    with subject.client() as client:
        client.send("CONFIG", "SET", "cache-url", "" if weather == "off" else url)

    @seed(diff_seed)
    @settings(max_examples=rounds(20))
    @given(sequences(group))
    def replies_agree(sequence: list[Args]) -> None:
        pair.run(_with_other_names(sequence) if version in ("zset-2", "zset-3") else sequence)

    spoil = flushing(servers.tier, diff_seed) if weather == "flushed" else nullcontext()
    with spoil:
        try:
            replies_agree()
        except BaseException as failure:
            failure.add_note(f"{version}, {group}, STRATAKV_DIFF_SEED={diff_seed}")
            raise
