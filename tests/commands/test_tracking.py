"""CLIENT TRACKING: who has a copy is told what redis-server tells, in the same place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from stratakv.proxy import commands  # noqa: F401  # fills the table
from stratakv.proxy.table.registry import TABLE
from tests.commands.dialogues import Dialogue
from tests.commands.notification_scripts import SCRIPTS
from tests.commands.scripts import parse
from tests.commands.tracking_dialogues import DIALOGUES
from tests.harness.hbase import IS_ON_HBASE
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode

Server = RedisServer | StrataServer

OTHERWISE = {b"swapdb", b"pfcount"}
"""SWAPDB tells nobody in Redis, and PFCOUNT tells of a count that it has noted in the key."""


class Cast(NamedTuple):
    """The clients of one server: `numbers` are how it knows the others."""

    server: Server
    tracker: WireClient
    other: WireClient

    @classmethod
    def of(cls, server: Server, protocol: int = 3) -> Cast:
        cast = cls(server, server.client(protocol), server.client(protocol))
        cast.other.send("FLUSHALL")
        return cast

    def told(self, client: WireClient | None = None) -> list[bytes]:
        """What a client was sent besides replies, as it came, up to now."""
        found: list[bytes] = []
        client = client or self.tracker
        client.write(encode("ECHO", "the end"))
        found += [reply.raw for reply in client.pushes]
        client.pushes.clear()
        while (reply := client.read_any()).frame.data != b"the end":
            found.append(reply.raw)
        return found

    def heard(self, *call: Arg) -> list[bytes]:
        """All that the tracker is sent for a command of its own, in order."""
        self.tracker.write(encode(*call))
        return self.told()

    def close(self) -> None:
        self.tracker.close()
        self.other.close()


@pytest.fixture
def casts(redis_server: RedisServer, strata_server: Server) -> Iterator[tuple[Cast, Cast]]:
    both = Cast.of(redis_server), Cast.of(strata_server)
    yield both
    for cast in both:
        cast.close()


def same(casts: tuple[Cast, Cast], what: Callable[[Cast], object]) -> object:
    """What is found at both servers, which has to be the same."""
    redis, strata = map(what, casts)
    assert strata == redis
    return strata


def keys_of(call: list[bytes]) -> list[bytes]:
    entry = TABLE[call[0].lower()]
    if entry.subcommands and len(call) > 1:
        entry = entry.subcommands.get(call[1].lower(), entry)
    return entry.find_keys(call) if entry.min_args <= len(call) <= entry.max_args else []


def calls_of(group: str) -> list[list[bytes]]:
    return [call for call in parse(SCRIPTS[group]) if call[0].lower() in TABLE]


def invalidated(pushes: list[bytes]) -> list[bytes]:
    return [push for push in pushes if b"invalidate" in push]


def keys_in(pushes: list[bytes]) -> set[bytes]:
    return {
        name for push in invalidated(pushes) for name in re.findall(rb"\$\d+\r\n(.*)\r\n", push)
    }


@pytest.mark.parametrize("group", SCRIPTS)
def test_who_has_a_copy_is_told_of_every_change(casts: tuple[Cast, Cast], group: str) -> None:
    """All keys that a call names were read before it; the order of the messages is Redis's."""
    same(casts, lambda cast: cast.tracker.send("CLIENT", "TRACKING", "ON").raw)
    for call in calls_of(group):
        keys = keys_of(call)

        def change(cast: Cast, call: list[bytes] = call, keys: list[bytes] = keys) -> list[bytes]:
            if keys:
                cast.tracker.send("EXISTS", *keys)
            cast.other.send(*call)
            return cast.told()

        redis, strata = map(change, casts)
        assert strata == redis or call[0].lower() in OTHERWISE, call


@pytest.mark.parametrize("group", sorted(SCRIPTS.keys() - {"transactions"}))
def test_who_changes_its_own_copies_hears_it_behind_the_reply(
    casts: tuple[Cast, Cast], group: str
) -> None:
    same(casts, lambda cast: cast.tracker.send("CLIENT", "TRACKING", "ON").raw)
    for call in calls_of(group):
        keys = keys_of(call)

        def change(
            cast: Cast, call: list[bytes] = call, keys: list[bytes] = keys
        ) -> tuple[bool, list[bytes]]:
            if keys:
                cast.tracker.send("EXISTS", *keys)
            heard = cast.heard(*call)
            return bool(heard) and b"invalidate" in heard[0], invalidated(heard)

        redis, strata = map(change, casts)
        assert strata == redis or call[0].lower() in OTHERWISE, call


@pytest.mark.parametrize("group", SCRIPTS)
def test_who_wants_to_hear_of_prefixes_hears_of_all_changes(
    casts: tuple[Cast, Cast], group: str
) -> None:
    same(casts, lambda cast: cast.tracker.send("CLIENT", "TRACKING", "ON", "BCAST").raw)
    for call in calls_of(group):

        def change(cast: Cast, call: list[bytes] = call) -> list[bytes]:
            cast.other.send(*call)
            return cast.told()

        redis, strata = map(change, casts)
        if IS_ON_HBASE and call == [b"EXEC"]:  # with FLUSHALL it is written in parts, and told so
            assert keys_in(strata) == keys_in(redis)
            continue
        assert strata == redis or call[0].lower() in OTHERWISE, call


@pytest.mark.parametrize("name", DIALOGUES)
def test_all_that_clients_are_sent_is_what_redis_sends(
    redis_server: RedisServer, strata_server: Server, name: str
) -> None:
    found = []
    for server in (redis_server, strata_server):
        dialogue = Dialogue(server, "a3 b2 c3 d2 r2")
        dialogue.say("b", [b"FLUSHALL"])
        found.append(dialogue.hold(DIALOGUES[name]))
        dialogue.close()
    redis, strata = found
    assert strata == redis


MEMBERS = [f"member:{number}" for number in range(3000)]


def test_what_a_long_command_reads_is_told_when_it_changes(casts: tuple[Cast, Cast]) -> None:
    for cast in casts:
        cast.other.send("SADD", "big", *MEMBERS)
        cast.tracker.send("CLIENT", "TRACKING", "ON")
        assert len(cast.tracker.send("SMEMBERS", "big").frame.elements) == len(MEMBERS)
        cast.other.send("SREM", "big", "member:1")
    assert same(casts, Cast.told) != []


def test_a_change_during_a_long_command_is_told_behind_its_reply(strata_server: Server) -> None:
    """It reads a snapshot: a reply without what others write meanwhile is told to be old."""
    cast = Cast.of(strata_server)
    for start in range(0, 60_000, 3000):
        cast.other.send("SADD", "big", *range(start, start + 3000))
    cast.tracker.send("CLIENT", "TRACKING", "ON")
    old = 0
    for number in range(200):
        new = f"new:{number}"
        cast.tracker.write(encode("SMEMBERS", "big"))
        time.sleep(number % 20 / 1000)  # some of these come after its snapshot, on any machine
        cast.other.send("SADD", "big", new)
        reply = cast.tracker.read_any().frame
        assert reply.kind == "~", "it was told of a change before its reply"
        is_old = new.encode() not in reply.blobs()
        assert invalidated(cast.told()) or not is_old
        old += is_old
        cast.other.send("SREM", "big", new)
        cast.told()
        if old and number > 10:
            break
    assert old, "no change came during a command"
    cast.close()


@pytest.mark.parametrize("lines", ["GET k;SUNIONSTORE copy big;GET k", "SUNIONSTORE k big;SCARD k"])
def test_a_unit_in_slices_keeps_the_order(casts: tuple[Cast, Cast], lines: str) -> None:
    """It begins anew over a snapshot; what it reads and changes is told once, as in Redis."""

    def unit(cast: Cast) -> list[bytes]:
        cast.other.send("SADD", "big", *MEMBERS)
        cast.tracker.send("CLIENT", "TRACKING", "ON")
        cast.tracker.send("EXISTS", "k", "copy")
        for call in ("MULTI", *lines.split(";"), "EXEC"):
            cast.tracker.send(*call.split())
        told = cast.told()
        cast.other.send("DEL", "k", "copy")
        return [*told, b"--", *cast.told()]

    same(casts, unit)


def test_who_was_blocked_hears_of_its_own_change_behind_the_reply(
    casts: tuple[Cast, Cast],
) -> None:
    def served(cast: Cast) -> list[bytes]:
        cast.other.send("RPUSH", "to", "a")
        cast.tracker.send("CLIENT", "TRACKING", "ON")
        cast.tracker.send("LRANGE", "to", 0, -1)
        cast.tracker.write(encode("BLMOVE", "from", "to", "LEFT", "LEFT", 0))
        cast.server.wait_until_blocked()
        cast.other.send("RPUSH", "from", "foo")
        return [cast.tracker.read_any().raw, *cast.told()]

    same(casts, served)


def test_who_is_blocked_hears_of_changes_of_others_at_once(casts: tuple[Cast, Cast]) -> None:
    def served(cast: Cast) -> list[bytes]:
        cast.tracker.send("CLIENT", "TRACKING", "ON")
        cast.tracker.send("GET", "k")
        cast.tracker.write(encode("XREAD", "BLOCK", 0, "STREAMS", "s", "$"))
        cast.server.wait_until_blocked()
        cast.other.send("SET", "k", 1)
        first = cast.tracker.read_any().raw
        cast.other.send("XADD", "s", "1-1", "f", "v")
        return [first, cast.tracker.read_any().raw, *cast.told()]

    same(casts, served)


@pytest.mark.parametrize("mode", [(), ("BCAST",), ("BCAST", "NOLOOP"), ("NOLOOP",)])
def test_a_key_that_expires_is_told(casts: tuple[Cast, Cast], mode: tuple[str, ...]) -> None:
    def expires(cast: Cast) -> list[bytes]:
        cast.other.send("SET", "k", "v", "PX", 60)
        cast.tracker.send("CLIENT", "TRACKING", "ON", *mode)
        cast.tracker.send("GET", "k")
        return [cast.tracker.read_any().raw, *cast.told()]

    same(casts, expires)


def test_muted_clients_hear_of_changes(casts: tuple[Cast, Cast]) -> None:
    def muted(cast: Cast) -> list[bytes]:
        cast.tracker.send("CLIENT", "TRACKING", "ON")
        cast.tracker.send("GET", "k")
        cast.tracker.write(encode("CLIENT", "REPLY", "OFF"))
        cast.tracker.write(encode("GET", "l"))
        cast.tracker.write(encode("SET", "k", 1))
        first = cast.tracker.read_any().raw
        cast.other.send("SET", "l", 1)
        second = cast.tracker.read_any().raw
        return [first, second, cast.tracker.send("CLIENT", "REPLY", "ON").raw, *cast.told()]

    same(casts, muted)


def test_keys_beyond_the_limit_are_forgotten_and_told(casts: tuple[Cast, Cast]) -> None:
    """Which ones, is chosen at random; the rest is told when it changes."""
    for cast in casts:
        cast.other.send("CONFIG", "SET", "tracking-table-max-keys", 1000)
        cast.tracker.send("CLIENT", "TRACKING", "ON")
        keys = [f"k{number}" for number in range(250)]
        for key in keys:
            cast.tracker.send("GET", key)
        assert cast.told() == []
        cast.other.send("CONFIG", "SET", "tracking-table-max-keys", 10)
        told = {cast.tracker.read_any().raw for _ in range(240)}
        for key in keys:
            cast.other.send("SET", key, 1)
        rest = set(cast.told())
        assert (len(told), len(rest), len(told | rest)) == (240, 10, 250)
        cast.other.send("CONFIG", "SET", "tracking-table-max-keys", 1_000_000)


def shown(cast: Cast, *names: bytes) -> list[bytes]:
    info = b"".join(cast.other.send("INFO", one).raw for one in ("clients", "stats"))
    return [line for line in info.split(b"\r\n") if line.split(b":")[0] in names]


def test_info_and_client_list_show_who_tracks(casts: tuple[Cast, Cast]) -> None:
    def counts(cast: Cast) -> list[object]:
        found: list[object] = []
        names = (
            b"tracking_clients",
            b"tracking_total_keys",
            b"tracking_total_items",
            b"tracking_total_prefixes",
        )
        for mode in ((), ("BCAST", "PREFIX", "a", "PREFIX", "b")):
            cast.tracker.send("CLIENT", "TRACKING", "ON", *mode)
            cast.tracker.send("MGET", "k", "l", "k")
            found.append(shown(cast, *names))
            line = cast.tracker.send("CLIENT", "INFO").raw
            found += [word for word in line.split() if word.startswith((b"flags=", b"redir="))]
            cast.other.send("MSET", "k", 1, "l", 1)
            cast.told()
            cast.tracker.send("CLIENT", "TRACKING", "OFF")
        return [*found, shown(cast, *names)]

    same(casts, counts)


def test_who_tracks_and_is_gone_costs_nothing_more(strata_server: Server) -> None:
    cast = Cast.of(strata_server)
    cast.tracker.send("CLIENT", "TRACKING", "ON")
    cast.tracker.send("GET", "k")
    cast.tracker.close()
    names = (b"tracking_clients", b"tracking_total_keys", b"tracking_total_items")
    expected = [b"tracking_clients:0", b"tracking_total_keys:0", b"tracking_total_items:0"]
    wait_until(lambda: shown(cast, *names) == expected)
    cast.other.close()


def test_a_tracker_that_does_not_read_is_cut(tmp_path: Path) -> None:
    flags = ("--client-output-buffer-limit", "normal 300kb 0 0 slave 0 0 0 pubsub 300kb 0 0")
    server = StrataServer(tmp_path / "data", flags=flags).start()
    cast = Cast.of(server)
    cast.tracker.send("CLIENT", "TRACKING", "ON", "BCAST")
    key = "k" * 50_000
    try:
        wait_until(
            lambda: (
                [
                    cast.other.pipeline([("SET", f"{key}{n}", 1) for n in range(20)]),
                    shown(cast, b"tracking_clients"),
                ][1]
                == [b"tracking_clients:0"]
            )
        )
    finally:
        cast.close()
        server.stop()


def test_swapdb_tells_that_everything_has_changed(strata_server: Server) -> None:
    """Redis tells nobody, though whoever has copies has those of another database now."""
    cast = Cast.of(strata_server)
    cast.tracker.send("CLIENT", "TRACKING", "ON")
    cast.tracker.send("GET", "k")
    cast.other.send("SWAPDB", 0, 1)
    assert cast.told() == [b">2\r\n$10\r\ninvalidate\r\n_\r\n"]
    cast.close()
