"""A tenant tries to get out of its namespace, and to look into others'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.table.registry import every_command
from tests.access.tenants import OK, bind, client, is_refused
from tests.harness.servers import Process, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode


class Place(NamedTuple):
    """A server, and a client of each kind."""

    server: Process
    admin: WireClient
    shop: WireClient
    other: WireClient


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    started = StrataServer(tmp_path_factory.mktemp("tenants")).start()
    yield started
    started.stop()


@pytest.fixture
def place(server: Process, protocol: int) -> Iterator[Place]:
    """Both namespaces empty, the administrator's database with a key."""
    with server.client() as admin:
        for name in ("shop", "other"):
            bind(admin, name)
        admin.send("FLUSHALL")
        admin.send("CONFIG", "SET", "notify-keyspace-events", "")
        assert admin.send("SET", "k", "admin").raw == OK
        with client(server, "shop", protocol) as shop, client(server, "other", protocol) as other:
            for tenant in (shop, other):
                tenant.send("FLUSHALL")
                tenant.send("FUNCTION", "FLUSH")
                tenant.send("SCRIPT", "FLUSH")
            yield Place(server, admin, shop, other)


def value(wire: WireClient, *request: Arg) -> bytes | None:
    return wire.send(*request).frame.data


def begin(wire: WireClient, *request: Arg) -> None:
    """Send a command whose reply comes later."""
    wire.write(encode(*request))


LIBRARY = "#!lua name=mine\nredis.register_function('f', function() return 'SHOP' end)"


# every command


def test_every_command_is_decided_for_tenants() -> None:
    undecided = [entry.name for entry in every_command() if not entry.has_tenancy]
    assert undecided == []


SERVED_ADMINISTRATION = {
    "client|kill",
    "client|list",
    "client|unblock",
    "monitor",
    "slowlog|get",
    "slowlog|len",
    "slowlog|reset",
}
"""Commands for administrators that tenants have, for what is their own."""


def test_administration_is_not_for_tenants_but_what_is_their_own() -> None:
    served = {one.name for one in every_command() if "admin" in one.flags and one.serves_tenants}
    assert served == SERVED_ADMINISTRATION


def test_whatever_is_barred_is_refused_before_its_arguments_are_read(place: Place) -> None:
    barred = [entry for entry in every_command() if not entry.serves_tenants]
    assert len(barred) > 50
    for entry in barred:
        request = [*entry.words, *["1"] * (entry.min_args - len(entry.words))]
        assert is_refused(place.shop, *request), entry.name
    assert place.shop.send("GET", "k").raw in (b"$-1\r\n", b"_\r\n")


def test_what_is_barred_is_so_in_units_as_well(place: Place) -> None:
    shop = place.shop
    shop.send("MULTI")
    assert is_refused(shop, "CONFIG", "GET", "dir")
    assert shop.send("EXEC").raw.startswith(b"-EXECABORT")
    reply = shop.send("EVAL", "return redis.pcall('ROLE').err", 0)
    assert b"not allowed" in reply.raw or b"can't run" in reply.raw
    script = "return redis.pcall('LASTSAVE')"
    assert b"can't run this command" in shop.send("EVAL", script, 0).raw
    assert b"(false)" not in shop.send("EVAL", script, 0).raw
    check = "return tostring(redis.acl_check_cmd('LASTSAVE'))"
    assert value(shop, "EVAL", check, 0) == b"false"


# keys and databases


@pytest.mark.parametrize("name", ["t1:k", "t2-0:k", "m#0:k", "other:k", ":", "t1-0.a9:k", "\0k"])
def test_names_of_keys_lead_nowhere(place: Place, name: str) -> None:
    assert place.shop.send("SET", name, "mine").raw == OK
    assert place.other.send("DBSIZE").raw == b":0\r\n"
    assert place.other.send("EXISTS", name).raw == b":0\r\n"
    assert place.admin.send("KEYS", "*").frame.blobs() == [b"k"]
    assert value(place.shop, "GET", name) == b"mine"


def test_keys_scans_and_counts_are_ones_own(place: Place) -> None:
    place.shop.send("MSET", *[word for at in range(300) for word in (f"s{at}", at)])
    assert place.shop.send("DBSIZE").raw == b":300\r\n"
    assert place.other.send("DBSIZE").raw == b":0\r\n"
    assert place.other.send("KEYS", "*").frame.blobs() == []
    assert place.other.send("RANDOMKEY").frame.is_null
    cursor, _ = place.shop.send("SCAN", 0).frame.elements
    assert cursor.data != b"0"
    after, keys = place.other.send("SCAN", cursor.data or b"").frame.elements
    assert (after.data, keys.blobs()) == (b"0", [])


@pytest.mark.parametrize("scan", ["HSCAN", "SSCAN", "ZSCAN"])
def test_a_cursor_of_another_namespace_leads_nowhere(place: Place, scan: str) -> None:
    """It is as one that nobody has handed out: the scan begins, in the own collection."""
    for owner in (place.shop, place.other):
        name = b"shop" if owner is place.shop else b"other"
        members = [b"%b-%d" % (name, number) for number in range(600)]
        if scan == "SSCAN":
            owner.send("SADD", "k", *members)
        elif scan == "HSCAN":
            owner.send("HSET", "k", *[word for one in members for word in (one, b"v")])
        else:
            owner.send("ZADD", "k", *[word for one in members for word in (b"1", one)])
    cursor, shown = place.shop.send(scan, "k", 0, "COUNT", 20).frame.elements
    assert cursor.data != b"0"
    assert all(b"other" not in one for one in shown.blobs())
    unknown, begun = place.other.send(scan, "k", 0, "COUNT", 20).frame.elements
    after, found = place.other.send(scan, "k", cursor.data or b"", "COUNT", 20).frame.elements
    assert (after.data, found.blobs()) == (unknown.data, begun.blobs())


@pytest.mark.parametrize("index", ["-1", "16", "65536", "65537", "131072", str(1 << 40)])
def test_no_number_selects_others_databases(place: Place, index: str) -> None:
    place.other.send("SET", "x", "1")
    assert place.shop.send("SELECT", index).raw.startswith(b"-ERR")
    assert place.shop.send("SWAPDB", "0", index).raw.startswith(b"-ERR")
    place.shop.send("SET", "m", "1")
    assert place.shop.send("MOVE", "m", index).raw.startswith(b"-ERR")
    assert place.shop.send("COPY", "m", "n", "DB", index).raw.startswith(b"-ERR")
    assert place.other.send("KEYS", "*").frame.blobs() == [b"x"]


def test_the_sixteen_databases_are_ones_own(place: Place) -> None:
    shop, other, admin = place.shop, place.other, place.admin
    for number in range(16):
        shop.send("SELECT", number)
        assert shop.send("SET", "n", number).raw == OK
    shop.send("SWAPDB", 0, 15)
    shop.send("SELECT", 0)
    assert value(shop, "GET", "n") == b"15"
    assert shop.send("COPY", "n", "copied", "DB", 3).raw == b":1\r\n"
    assert shop.send("MOVE", "n", 15).raw == b":0\r\n"
    assert other.send("SELECT", 3).raw == OK
    assert other.send("DBSIZE").raw == b":0\r\n"
    admin.send("SELECT", 3)
    assert admin.send("DBSIZE").raw == b":0\r\n"
    shop.send("SELECT", 3)
    assert value(shop, "GET", "copied") == b"15"


def test_a_flush_ends_where_the_namespace_does(place: Place) -> None:
    place.shop.send("SET", "s", "1")
    place.other.send("SET", "o", "1")
    for flush in ("FLUSHALL", "FLUSHDB"):
        assert place.shop.send(flush).raw == OK
        assert place.shop.send("DBSIZE").raw == b":0\r\n"
        assert value(place.other, "GET", "o") == b"1"
        assert value(place.admin, "GET", "k") == b"admin"
    place.admin.send("FLUSHALL")
    assert value(place.other, "GET", "o") == b"1"
    place.shop.send("MULTI")
    place.shop.send("SET", "s", "1")
    place.shop.send("FLUSHALL")
    place.shop.send("EXEC")
    assert place.shop.send("DBSIZE").raw == b":0\r\n"
    assert value(place.other, "GET", "o") == b"1"


def test_sort_reads_ones_own_keys(place: Place) -> None:
    place.other.send("MSET", "w_1", "5", "v_1", "theirs")
    place.shop.send("RPUSH", "l", "1")
    reply = place.shop.send("SORT", "l", "BY", "w_*", "GET", "v_*")
    assert [item.is_null for item in reply.frame.elements] == [True]


@pytest.mark.parametrize(
    "question",
    ["OBJECT ENCODING t", "OBJECT IDLETIME t", "OBJECT REFCOUNT t", "MEMORY USAGE t", "DUMP t",
     "TYPE t", "PTTL t", "EXPIRETIME t", "TOUCH t", "XINFO STREAM t", "RENAME t mine",
     "EVAL return_redis.call('OBJECT','ENCODING','t') 0"],
)  # fmt: skip
def test_nobody_learns_of_keys_of_other_namespaces(place: Place, question: str) -> None:
    """The answer is that of a server where there is no such key."""
    request = [word.replace("_", " ") for word in question.split()]
    before = place.shop.send(*request).raw
    place.other.send("SET", "t", "theirs", "EX", 100)
    place.admin.send("XADD", "t", "*", "f", "v")
    assert place.shop.send(*request).raw == before
    assert place.other.send("EXISTS", "t").raw == b":1\r\n"
    place.admin.send("DEL", "t")


def test_what_expires_soon_is_counted_in_ones_own(place: Place) -> None:
    place.other.send("SET", "t", "1", "EX", 30)
    place.admin.send("SET", "t", "1", "EX", 30)
    before = place.shop.send("STRATA", "EXPIRING", 60).raw
    place.shop.send("SET", "t", "1", "EX", 30)
    after = place.shop.send("STRATA", "EXPIRING", 60).raw
    assert (before, after) == (
        b"*1\r\n*3\r\n:60\r\n:0\r\n:1\r\n",
        b"*1\r\n*3\r\n:60\r\n:1\r\n:1\r\n",
    )
    place.admin.send("DEL", "t")


def test_a_dump_is_restored_into_ones_own(place: Place) -> None:
    place.shop.send("RPUSH", "l", "1", "2")
    payload = value(place.shop, "DUMP", "l") or b""
    assert place.other.send("RESTORE", "l", 0, payload).raw == OK
    place.other.send("RPUSH", "l", "3")
    assert place.shop.send("LLEN", "l").raw == b":2\r\n"
    assert place.admin.send("EXISTS", "l").raw == b":0\r\n"


# waiting and watching


def test_watch_and_blocked_clients_are_by_namespace(place: Place) -> None:
    shop, other = place.shop, place.other
    shop.send("WATCH", "w")
    other.send("SET", "w", "1")
    place.admin.send("SET", "w", "1")
    shop.send("MULTI")
    shop.send("PING")
    assert shop.send("EXEC").frame.elements[0].data == b"PONG"
    begin(shop, "BLPOP", "q", 0)
    wait_until(lambda: b" flags=b " in place.admin.send("CLIENT", "LIST").raw)
    other.send("RPUSH", "q", "theirs")
    place.admin.send("RPUSH", "q", "admins")
    assert other.send("LLEN", "q").raw == b":1\r\n"
    with client(place.server, "shop") as second:
        second.send("RPUSH", "q", "mine")
    assert shop.read().frame.blobs() == [b"q", b"mine"]
    place.admin.send("DEL", "q", "w")


# pub/sub


def test_messages_stay_in_the_namespace(place: Place) -> None:
    with (
        client(place.server, "shop") as listener,
        client(place.server, "other") as theirs,
        place.server.client() as admins,
    ):
        for one in (listener, theirs, admins):
            one.send("SUBSCRIBE", "c")
            one.send("PSUBSCRIBE", "*")
            one.send("SSUBSCRIBE", "s")
        assert place.shop.send("PUBLISH", "c", "hello").raw == b":2\r\n"
        assert place.shop.send("SPUBLISH", "s", "hello").raw == b":1\r\n"
        assert place.shop.send("PUBSUB", "NUMSUB", "c").frame.elements[1].number == 1
        assert place.shop.send("PUBSUB", "NUMPAT").raw == b":1\r\n"
        assert place.shop.send("PUBSUB", "CHANNELS").frame.blobs() == [b"c"]
        assert place.shop.send("PUBSUB", "SHARDCHANNELS").frame.blobs() == [b"s"]
        assert place.other.send("PUBLISH", "c", "theirs").raw == b":2\r\n"
        assert place.admin.send("PUBLISH", "c", "admins").raw == b":2\r\n"
        assert listener.read().frame.blobs() == [b"message", b"c", b"hello"]
        assert theirs.read().frame.blobs() == [b"message", b"c", b"theirs"]
        assert admins.read().frame.blobs() == [b"message", b"c", b"admins"]
    wait_until(lambda: place.shop.send("PUBSUB", "CHANNELS").frame.blobs() == [])
    with client(place.server, "other") as theirs:
        theirs.send("SUBSCRIBE", "d")
        assert place.shop.send("PUBSUB", "CHANNELS").frame.blobs() == []
        assert place.shop.send("PUBSUB", "NUMSUB", "d").frame.elements[1].number == 0


def test_events_are_told_to_those_of_the_namespace(place: Place) -> None:
    place.admin.send("CONFIG", "SET", "notify-keyspace-events", "KEA")
    with client(place.server, "shop") as mine, client(place.server, "other") as theirs:
        for one in (mine, theirs):
            one.send("PSUBSCRIBE", "__key*")
        place.admin.send("SET", "a", "1")
        place.shop.send("SELECT", 2)
        place.shop.send("SET", "s", "1")
        place.other.send("SET", "o", "1")
        told = mine.read().frame.blobs()
        assert told == [b"pmessage", b"__key*", b"__keyspace@2__:s", b"set"]
        assert theirs.read().frame.blobs()[2] == b"__keyspace@0__:o"


# scripts and functions


def test_scripts_are_known_to_their_namespace(place: Place) -> None:
    digest = value(place.shop, "SCRIPT", "LOAD", "return 'x'") or b""
    assert place.shop.send("EVALSHA", digest, 0).raw == b"$1\r\nx\r\n"
    for stranger in (place.other, place.admin):
        assert stranger.send("SCRIPT", "EXISTS", digest).frame.elements[0].number == 0
        assert stranger.send("EVALSHA", digest, 0).raw.startswith(b"-NOSCRIPT")
    place.other.send("SCRIPT", "FLUSH")
    assert place.shop.send("EVALSHA", digest, 0).raw == b"$1\r\nx\r\n"


def test_functions_are_those_of_the_namespace(place: Place) -> None:
    assert value(place.shop, "FUNCTION", "LOAD", LIBRARY) == b"mine"
    theirs = LIBRARY.replace("SHOP", "OTHER")
    assert value(place.other, "FUNCTION", "LOAD", theirs) == b"mine"
    assert value(place.shop, "FCALL", "f", 0) == b"SHOP"
    assert value(place.other, "FCALL", "f", 0) == b"OTHER"
    assert place.admin.send("FCALL", "f", 0).raw.startswith(b"-ERR Function not found")
    payload = value(place.shop, "FUNCTION", "DUMP") or b""
    assert b"SHOP" in payload
    assert b"OTHER" not in payload
    place.other.send("FUNCTION", "FLUSH")
    assert len(place.shop.send("FUNCTION", "LIST").frame.elements) == 1
    assert place.admin.send("FUNCTION", "LIST").frame.elements == ()


def test_a_script_touches_the_keys_of_its_namespace(place: Place) -> None:
    place.other.send("SET", "x", "theirs")
    script = "redis.call('SELECT', 1); redis.call('SET', 'x', 'mine'); return redis.call('DBSIZE')"
    assert place.shop.send("EVAL", script, 0).raw == b":1\r\n"
    assert b"out of range" in place.shop.send("EVAL", "redis.call('SELECT', 65536)", 0).raw
    assert place.other.send("KEYS", "*").frame.blobs() == [b"x"]
    assert value(place.other, "GET", "x") == b"theirs"


def test_nobody_ends_others_scripts(place: Place) -> None:
    with client(place.server, "shop") as busy:
        begin(busy, "EVAL", "while true do end", 0)
        wait_until(lambda: place.admin.send("FUNCTION", "STATS").raw.startswith(b"-BUSY"))
        assert place.other.send("SCRIPT", "KILL").raw.startswith(b"-NOTBUSY")
        assert not place.other.send("FUNCTION", "STATS").frame.is_error
        assert place.admin.send("SCRIPT", "KILL").raw == OK
        assert busy.read().frame.is_error


# clients and what the server tells of itself


def test_clients_see_those_of_their_namespace(place: Place) -> None:
    text = (value(place.shop, "CLIENT", "LIST") or b"").decode()
    lines = text.removeprefix("txt:").splitlines()
    assert lines
    assert all(" user=shop " in line for line in lines)
    stranger = place.other.send("CLIENT", "ID").frame.number or 0
    assert value(place.shop, "CLIENT", "LIST", "ID", stranger) in (b"", b"txt:")
    assert place.shop.send("CLIENT", "KILL", "ID", stranger).raw == b":0\r\n"
    assert place.shop.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").raw == b":0\r\n"
    assert place.shop.send("CLIENT", "KILL", "USER", "other").raw.startswith(b"-ERR No such user")
    assert place.shop.send("CLIENT", "UNBLOCK", stranger).raw == b":0\r\n"
    address = (value(place.other, "CLIENT", "INFO") or b"").split(b" ")[1].removeprefix(b"addr=")
    assert place.shop.send("CLIENT", "KILL", address).raw.startswith(b"-ERR No such client")
    assert place.other.send("PING").raw == b"+PONG\r\n"
    assert b" user=shop " in place.admin.send("CLIENT", "LIST").raw


def test_monitor_shows_what_the_namespace_does(place: Place) -> None:
    with client(place.server, "shop") as monitor, place.server.client() as all_:
        for one in (monitor, all_):
            assert one.send("MONITOR").raw == OK
        place.other.send("SET", "secret", "theirs")
        place.admin.send("SET", "secret", "admins")
        place.shop.send("SET", "mine", "1")
        assert b'"mine"' in monitor.read().raw
        shown = [all_.read().raw for _ in range(3)]
        assert b"theirs" in shown[0]
        assert b'"mine"' in shown[2]
    place.admin.send("DEL", "secret")


def test_who_leaves_a_namespace_hears_nothing_more_of_it(place: Place) -> None:
    with client(place.server, "shop", 3) as leaver:
        begin(leaver, "SUBSCRIBE", "c")
        assert leaver.read_any().frame.kind == ">"
        leaver.send("WATCH", "w")
        leaver.send("MONITOR")
        assert leaver.send("AUTH", "other", "secret").raw == OK
        assert place.shop.send("PUBLISH", "c", "hello").raw == b":0\r\n"
        place.shop.send("SET", "w", "1")
        assert value(leaver, "ACL", "WHOAMI") == b"other"
        leaver.send("MULTI")
        leaver.send("DBSIZE")
        assert [item.number for item in leaver.send("EXEC").frame.elements] == [0]
        assert leaver.pushes == []


@pytest.mark.parametrize(
    "login", [("AUTH", "other", "secret"), ("HELLO", "3", "AUTH", "other", "secret")]
)
def test_nobody_changes_the_namespace_within_a_transaction(
    place: Place, login: tuple[str, ...]
) -> None:
    place.shop.send("MULTI")
    place.shop.send(*login)
    place.shop.send("SET", "in", "1")
    first, second = place.shop.send("EXEC").frame.elements
    assert first.is_error
    assert b"another namespace" in (first.data or b"")
    assert second.data == b"OK"
    assert place.other.send("EXISTS", "in").raw == b":0\r\n"
    assert value(place.shop, "GET", "in") == b"1"


def test_reset_leaves_the_namespace(place: Place) -> None:
    with client(place.server, "shop") as wire:
        wire.send("SELECT", 5)
        wire.send("SUBSCRIBE", "c")
        wire.send("RESET")
        assert place.shop.send("PUBSUB", "NUMSUB", "c").frame.elements[1].number == 0
        assert value(wire, "GET", "k") == b"admin"
        assert not is_refused(wire, "CONFIG", "GET", "dir")


def test_info_tells_of_the_namespace_alone(place: Place) -> None:
    place.other.send("SET", "o", "1")
    place.shop.send("SELECT", 7)
    place.shop.send("SET", "s", "1")
    for sections in ((), ("everything",), ("all",), ("keyspace", "stats", "replication", "memory")):
        text = (value(place.shop, "INFO", *sections) or b"").decode()
        assert "db7:keys=1," in text
        assert "db0:" not in text
        assert "other" not in text
        assert "cmdstat" not in text
        assert "used_memory" not in text


def test_the_slow_log_has_ones_own_calls(place: Place) -> None:
    place.admin.send("CONFIG", "SET", "slowlog-log-slower-than", 0)
    place.shop.send("SET", "slow", "mine")
    place.other.send("SET", "slow", "theirs")
    assert b"theirs" not in place.shop.send("SLOWLOG", "GET", -1).raw
    assert b"mine" in place.shop.send("SLOWLOG", "GET", -1).raw
    place.other.send("SLOWLOG", "RESET")
    assert b"mine" in place.shop.send("SLOWLOG", "GET", -1).raw
    assert b"mine" in place.admin.send("SLOWLOG", "GET", -1).raw
    place.admin.send("CONFIG", "SET", "slowlog-log-slower-than", 10000)


@pytest.mark.parametrize(
    "request_",
    [
        "MIGRATE 127.0.0.1 6379 k 0 1000",
        "REPLICAOF NO ONE",
        "REPLICAOF 127.0.0.1 1",
        "PSYNC ? -1",
        "DEBUG RELOAD",
        "DEBUG SLEEP 0",
        "CONFIG SET maxclients 1",
        "STRATA NAMESPACES",
        "STRATA NAMESPACE DROP other",
        "STRATA INSPECT k",
        "ACL SETUSER shop namespace=",
        "ACL LIST",
        "ACL LOG",
        "CLIENT PAUSE 1",
        "CLIENT NO-EVICT ON",
        "MEMORY STATS",
        "LATENCY LATEST",
        "SHUTDOWN NOSAVE",
    ],
)
def test_administration_is_no_way_out(place: Place, request_: str) -> None:
    assert is_refused(place.shop, *request_.split(" "))


def test_wait_counts_no_others(place: Place) -> None:
    place.shop.send("SET", "w", "1")
    assert place.shop.send("WAIT", 0, 0).raw == b":0\r\n"


def test_streaks_stay_in_the_namespace(place: Place) -> None:
    replies = place.shop.pipeline([("SET", f"p{at}", at) for at in range(100)])
    assert [reply.raw for reply in replies] == [OK] * 100
    assert place.shop.send("DBSIZE").raw == b":100\r\n"
    assert place.other.send("DBSIZE").raw == b":0\r\n"


# client-side caching


def told(wire: WireClient) -> list[str]:
    """What a client was told so far."""
    wire.send("PING")
    heard, wire.pushes[:] = [str(push.frame) for push in wire.pushes], []
    return heard


def tracked(place: Place, *words: Arg) -> WireClient:
    """A client of `shop` that tracks, in RESP3."""
    wire = place.server.client(3)
    assert wire.send("AUTH", "shop", "secret").raw == OK
    assert wire.send("CLIENT", "TRACKING", "ON", *words).raw == OK
    return wire


@pytest.mark.parametrize("words", [(), ("BCAST", "PREFIX", "k")], ids=["readers", "prefixes"])
def test_who_tracks_hears_of_the_keys_of_its_namespace(
    place: Place, words: tuple[Arg, ...]
) -> None:
    with tracked(place, *words) as wire, place.server.client(3) as watching:
        watching.send("CLIENT", "TRACKING", "ON", *words)
        for reader in (wire, watching):
            reader.send("GET", "k")
        for writer in (place.other, place.admin):
            writer.send("SET", "k", "new")
        assert told(wire) == []
        assert len(told(watching)) == 1
        watching.send("GET", "k")
        place.shop.send("SET", "k", "new")
        assert len(told(wire)) == 1
        assert told(watching) == []


def test_who_tracks_hears_of_a_flush_of_its_namespace(place: Place) -> None:
    with tracked(place) as wire:
        wire.send("GET", "k")
        for writer in (place.other, place.admin):
            writer.send("FLUSHALL")
            writer.send("SWAPDB", 0, 1)
        assert told(wire) == []
        place.shop.send("FLUSHALL")
        assert len(told(wire)) == 1


def test_nobody_is_told_in_place_of_a_client_of_another_namespace(place: Place) -> None:
    strangers = [one.send("CLIENT", "ID").frame.number for one in (place.other, place.admin)]
    for number in strangers:
        assert number is not None
        refused = place.shop.send("CLIENT", "TRACKING", "ON", "REDIRECT", number).raw
        assert refused.startswith(b"-ERR The client ID you want redirect to does not exist")


def test_who_is_told_in_place_of_another_and_leaves_hears_no_more(place: Place) -> None:
    with client(place.server, "shop", 3) as target:
        number = target.send("CLIENT", "ID").frame.number
        assert number is not None
        with tracked(place, "REDIRECT", number) as wire:
            wire.send("GET", "k")
            assert target.send("AUTH", "other", "secret").raw == OK
            place.shop.send("SET", "k", "new")
            assert told(target) == []
            assert "tracking-redir-broken" in told(wire)[0]


def test_the_table_of_readers_is_bounded_over_all_namespaces(place: Place) -> None:
    place.admin.send("CONFIG", "SET", "tracking-table-max-keys", 10)
    with tracked(place) as wire, place.server.client(3) as watching:
        watching.send("CLIENT", "TRACKING", "ON")
        for reader in (wire, watching):
            for number in range(10):
                reader.send("GET", f"k{number}")
        shown = facts_of_info(place.admin, "stats")
        assert int(shown["tracking_total_keys"]) <= 10
        assert len(told(wire)) + len(told(watching)) >= 10
    place.admin.send("CONFIG", "SET", "tracking-table-max-keys", 1_000_000)


def facts_of_info(wire: WireClient, section: str) -> dict[str, str]:
    lines = wire.send("INFO", section).raw.decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)
