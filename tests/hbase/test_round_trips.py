"""How often a server asks HBase: once for the keys of a command, and once for what is in them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import partial

import pytest

from tests.harness.hbase import HBaseServer
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode

pytestmark = [pytest.mark.hbase]

MANY = 150
"""More than a server is to ask for one by one, and than are known as a whole."""
REST_SECONDS = 0.5
"""Upkeep looks for work several times in it."""
NAMES = [f"m{number:03}" for number in range(MANY)]
SCORED = [word for number, name in enumerate(NAMES) for word in (number, name)]
PAIRS = [word for name in NAMES for word in (name, "value")]

COLD: dict[str, tuple[int, tuple[Arg, ...]]] = {
    "strings": (1, ("MGET", *(f"string{number}" for number in range(MANY)))),
    "fields": (2, ("HMGET", "hash0", *NAMES)),
    "fields that are set": (2, ("HSET", "hash1", *PAIRS, "new", "value")),
    "fields that are deleted": (2, ("HDEL", "hash2", *NAMES[:100])),
    "members": (2, ("SMISMEMBER", "set0", *NAMES)),
    "members that are added": (2, ("SADD", "set1", *NAMES, "new")),
    "scores": (2, ("ZMSCORE", "zset0", *NAMES)),
    "scores that are given": (2, ("ZADD", "zset1", "XX", *SCORED)),
    "members that are removed": (2, ("ZREM", "zset2", *NAMES[:100])),
    "an intersection of sets": (5, ("SINTERCARD", 2, "set2", "set3")),
    "a difference of sets": (5, ("SDIFF", "set4", "set5")),
    "an intersection of sorted sets": (5, ("ZINTERCARD", 2, "zset3", "zset4")),
    "members of a set that is made": (2, ("SADD", "another set", *NAMES)),
    "members of a sorted set that is made": (2, ("ZADD", "another zset", *SCORED)),
}
"""Commands on what no cache has, and how often HBase may be asked for them."""


@pytest.fixture(scope="module")
def server(
    hbase_server: HBaseServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StrataServer]:
    """One that has been started anew after everything was written."""
    flags = hbase_server.flags("roundtrips")
    started = StrataServer(tmp_path_factory.mktemp("server") / "data", flags=flags).start()
    with started.client() as client:
        client.pipeline([("SET", f"string{number}", number) for number in range(MANY)])
        for number in range(12):
            client.send("HSET", f"hash{number}", *PAIRS)
            client.send("SADD", f"set{number}", *NAMES)
            client.send("ZADD", f"zset{number}", *SCORED)
    assert started.terminate() == 0
    started.start()
    yield started
    started.stop()


def fetches(client: WireClient) -> int:
    found = re.search(rb"fetches: (\d+)", client.send("MEMORY", "MALLOC-STATS").frame.data or b"")
    assert found is not None
    return int(found[1])


@pytest.fixture
def client(server: StrataServer) -> Iterator[WireClient]:
    """Of a server that asks for nothing by itself any more, as far as is seen."""
    with server.client() as made:
        wait_until(partial(rests, made))
        yield made


def rests(client: WireClient) -> bool:
    before = fetches(client)
    time.sleep(REST_SECONDS)
    return fetches(client) == before


@pytest.mark.parametrize("name", COLD)
def test_what_a_command_names_is_asked_for_together(name: str, client: WireClient) -> None:
    most, command = COLD[name]
    before = fetches(client)
    assert not client.send(*command).frame.is_error
    assert fetches(client) - before <= most


def test_what_a_pipeline_names_is_asked_for_together(client: WireClient) -> None:
    commands = [("HGET", f"hash{3 + number % 3}", NAMES[number]) for number in range(90)]
    before = fetches(client)
    client.write(b"".join(encode(*command) for command in commands))
    assert [client.read().frame.data for _ in commands] == [b"value"] * 90
    assert fetches(client) - before <= 4


def test_what_a_transaction_names_is_asked_for_together(client: WireClient) -> None:
    commands: list[tuple[Arg, ...]] = [("ZSCORE", f"zset{6 + n % 3}", NAMES[n]) for n in range(60)]
    commands += [("HINCRBY", f"hash{6 + n % 3}", f"new{n}", 1) for n in range(60)]
    before = fetches(client)
    client.send("MULTI")
    client.pipeline(commands)
    assert len(client.send("EXEC").frame.items or ()) == 120
    assert fetches(client) - before <= 4


LONG_NAMES = [f"long{number:05}" for number in range(3000)]
LONG: dict[str, tuple[Arg, ...]] = {
    "keys that are set": ("MSET", *(word for name in LONG_NAMES for word in (name, "value"))),
    "keys that are read": ("MGET", *LONG_NAMES),
    "members of a set that is made": ("SADD", "longset", *LONG_NAMES),
    "members of a set": ("SMISMEMBER", "longset", *LONG_NAMES),
    "scores that are made": ("ZADD", "longzset", *(w for name in LONG_NAMES for w in (1, name))),
    "scores that are given": ("ZADD", "longzset", *(w for name in LONG_NAMES for w in (2, name))),
    "an intersection": ("ZINTERCARD", 2, "longzset", "longset"),
}
"""Too long for a turn, in an order in which they find something."""


def calls(client: WireClient) -> int:
    found = re.search(rb"\ncalls: (\d+)", client.send("MEMORY", "MALLOC-STATS").frame.data or b"")
    assert found is not None
    return int(found[1])


def test_long_commands_do_not_wait_for_each_row(client: WireClient) -> None:
    """HBase has no call for many rows of a snapshot, so each is one: but not one and a wait."""
    for name, command in LONG.items():
        before = calls(client)
        assert not client.send(*command).frame.is_error
        spent = calls(client) - before
        assert spent < 1.5 * len(LONG_NAMES), f"{name}: {spent} calls"
