"""Connection commands: the bytes of redis-server, with and without a password."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import Process, RedisServer, StrataServer
from tests.harness.wire import WireClient, encode

NO_ANSWER_S = 0.1

CALLS = """
PING | PING a | PING a b | ECHO | ECHO x | QUIT2
AUTH x | AUTH default x | AUTH nobody x | AUTH a b c
SELECT 1 | SELECT 16 | SELECT -1 | SELECT abc | SELECT 99999999999 | SELECT 0
CLIENT | CLIENT foo | CLIENT ID x | CLIENT GETNAME | CLIENT SETNAME a | CLIENT GETNAME
CLIENT SETNAME é | CLIENT LIST TYPE pubsub | CLIENT LIST TYPE foo | CLIENT LIST TYPE
CLIENT LIST TYPE normal x | CLIENT LIST ID | CLIENT LIST ID abc | CLIENT LIST ID 999999
CLIENT LIST foo | CLIENT KILL 1.2.3.4:5 | CLIENT KILL foo | CLIENT KILL ID 999999
CLIENT KILL ID abc | CLIENT KILL ID 0 | CLIENT KILL ID | CLIENT KILL TYPE pubsub
CLIENT KILL TYPE master | CLIENT KILL TYPE foo | CLIENT KILL USER nobody
CLIENT KILL USER default SKIPME foo | CLIENT KILL ADDR 1.2.3.4:5 SKIPME yes
CLIENT KILL ADDR 1.2.3.4:5 LADDR 1.2.3.4:4 | CLIENT KILL ADDR 1.2.3.4:5 foo | CLIENT KILL foo bar
CLIENT REPLY ON | CLIENT REPLY foo | CLIENT PAUSE abc | CLIENT PAUSE -1 | CLIENT PAUSE 0
CLIENT PAUSE 0 WRITE | CLIENT PAUSE 0 foo | CLIENT PAUSE 0 WRITE x | CLIENT UNPAUSE
CLIENT NO-EVICT ON | CLIENT NO-EVICT OFF | CLIENT NO-EVICT foo | CLIENT GETREDIR
CLIENT TRACKINGINFO | CLIENT TRACKING OFF | CLIENT TRACKING foo | CLIENT CACHING YES
CLIENT UNBLOCK 999999 | CLIENT UNBLOCK abc | CLIENT UNBLOCK 999999 TIMEOUT
CLIENT UNBLOCK 999999 foo
client unblock 9 timeout x | Client Pause 0 write x | slowlog Get 1 2 | function flush a b
function restore a b c | acl cat a b
HELLO 1 | HELLO 4 | HELLO abc | HELLO 3 AUTH nobody x | HELLO 3 AUTH default | HELLO 3 foo
HELLO 3 SETNAME | HELLO 3 SETNAME é | CLIENT GETNAME | RESET x
READONLY | READWRITE | ASKING | CLUSTER INFO | CLUSTER foo | CLUSTER | CLUSTER HELP
CLUSTER SLOTS | CLUSTER NODES | CLUSTER SETSLOT 1 STABLE | CLUSTER MEET a 1 | CLUSTER FAILOVER
CLUSTER COUNTKEYSINSLOT 1 | CLUSTER GETKEYSINSLOT 1 1 | CLUSTER ADDSLOTS 1 2 | CLUSTER FORGET a
CLUSTER KEYSLOT | CLUSTER KEYSLOT a b
ROLE | ROLE x | WAIT 0 0 | WAIT 0 abc | WAIT abc 0 | WAIT 0 -1 | WAIT 1 10 | WAIT -1 10
ACL | ACL WHOAMI | ACL LIST | ACL USERS | ACL GETUSER default | ACL GETUSER nobody | ACL CAT
ACL CAT nosuch | ACL foo
"""


def calls(text: str) -> list[tuple[str, ...]]:
    lines = text.strip().replace("\n", " | ").split(" | ")
    return [tuple(line.split()) for line in lines]


def same_bytes(redis: WireClient, strata: WireClient, commands: list[tuple[str, ...]]) -> None:
    """Both answer all of them alike; a failure shows every command that differs."""
    pairs = [(call, redis.send(*call).raw, strata.send(*call).raw) for call in commands]
    different = [pair for pair in pairs if pair[1] != pair[2]]
    assert different == []


def test_replies_are_those_of_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    same_bytes(redis_wire, strata_wire, calls(CALLS))


@pytest.mark.parametrize("call", ["HELLO", "HELLO 2", "HELLO 3", "HELLO 2 SETNAME bob"])
def test_hello_names_the_same_facts(
    call: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis, strata = (wire.send(*call.split()).frame for wire in (redis_wire, strata_wire))
    facts = [
        {key.data: value for key, value in frame.pairs() if key.data != b"id"}
        for frame in (redis, strata)
    ]
    assert facts[0] == facts[1]
    assert redis.kind == strata.kind


def test_client_list_has_the_fields_of_redis_in_their_order(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    names = []
    for wire in (redis_wire, strata_wire):
        wire.send("CLIENT", "SETNAME", "me")
        wire.send("SELECT", 2)
        line = (wire.send("CLIENT", "INFO").frame.data or b"").decode()
        fields = dict(field.split("=", 1) for field in line.strip().split(" "))
        assert (fields["name"], fields["db"], fields["cmd"]) == ("me", "2", "client|info")
        assert fields["resp"] == str(wire.protocol)
        names.append(list(fields))
    later = ["lib-name", "lib-ver"]  # of Redis 7.2
    assert names[1] == [*names[0], *later]


def described(wire: WireClient) -> dict[str, str]:
    line = (wire.send("CLIENT", "INFO").frame.data or b"").decode().removeprefix("txt:")
    return dict(field.split("=", 1) for field in line.strip().split(" "))


def test_the_library_of_a_client_is_shown(strata_wire: WireClient) -> None:
    """The replies are those of Redis 7.2."""
    wire = strata_wire
    assert wire.send("CLIENT", "SETINFO", "LIB-NAME", "redis-py(rq)").raw == b"+OK\r\n"
    assert wire.send("client", "setinfo", "lib-ver", "1.2.3").raw == b"+OK\r\n"
    shown = described(wire)
    assert (shown["lib-name"], shown["lib-ver"]) == ("redis-py(rq)", "1.2.3")
    refused = b"-ERR %b cannot contain spaces, newlines or special characters.\r\n"
    for word, value in [(b"Lib-Name", b"a b"), (b"LIB-VER", b"a\nb"), (b"lib-ver", b"\xff")]:
        assert wire.send("CLIENT", "SETINFO", word, value).raw == refused % word
    assert wire.send("CLIENT", "SETINFO", "foo", "x").raw == b"-ERR Unrecognized option 'foo'\r\n"
    wire.send("CLIENT", "SETINFO", "LIB-NAME", "")
    assert described(wire)["lib-name"] == ""


def test_a_client_that_touches_nothing_is_marked(strata_wire: WireClient) -> None:
    wire = strata_wire
    assert described(wire)["flags"] == "N"
    assert wire.send("CLIENT", "NO-TOUCH", "on").raw == b"+OK\r\n"
    wire.send("CLIENT", "NO-EVICT", "on")
    assert described(wire)["flags"] == "eT"
    assert wire.send("CLIENT", "NO-TOUCH", "x").raw == b"-ERR syntax error\r\n"
    assert wire.send("CLIENT", "NO-TOUCH", "OFF").raw == b"+OK\r\n"
    assert described(wire)["flags"] == "e"
    wire.send("CLIENT", "NO-TOUCH", "on")
    wire.send("RESET")
    assert described(wire)["flags"] == "N"


@pytest.mark.parametrize(
    ("key", "slot"),
    [("foo", 12182), ("foo{bar}", 5061), ("bar", 5061), ("", 0), ("{}foo", 9500), ("{{x}}", 11068)],
)
def test_the_slot_of_a_key(key: str, slot: int, strata_wire: WireClient) -> None:
    """The slots are those of a Redis that is a cluster."""
    assert strata_wire.send("CLUSTER", "KEYSLOT", key).raw == b":%d\r\n" % slot


def test_clients_are_killed_by_id_and_by_address(strata_server: Process) -> None:
    with strata_server.client() as killer, strata_server.client() as victim:
        number = victim.send("CLIENT", "ID").frame.number or 0
        assert killer.send("CLIENT", "KILL", "ID", number).raw == b":1\r\n"
        assert victim.read_to_end() == b""
    with strata_server.client() as killer, strata_server.client() as victim:
        line = (victim.send("CLIENT", "INFO").frame.data or b"").decode()
        address = line.split("addr=")[1].split(" ")[0]
        assert killer.send("CLIENT", "KILL", address).raw == b"+OK\r\n"
        assert victim.read_to_end() == b""


def test_a_client_that_kills_itself_has_its_reply_first(strata_server: Process) -> None:
    with strata_server.client() as client:
        number = client.send("CLIENT", "ID").frame.number or 0
        client.write(encode("CLIENT", "KILL", "ID", number, "SKIPME", "no") + encode("PING"))
        assert client.read_to_end() == b":1\r\n"


def test_skip_counts_commands_that_are_refused(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    script = [("CLIENT", "REPLY", "SKIP"), ("GET",), ("ECHO", "1"), ("CLIENT", "REPLY", "SKIP")]
    script += [("nosuch",), ("ECHO", "2"), ("CLIENT", "REPLY", "SKIP"), ("CLIENT", "foo")]
    script += [("SET", "k", "v"), ("CLIENT", "REPLY", "OFF"), ("CLIENT", "REPLY", "SKIP")]
    script += [("PING",), ("CLIENT", "REPLY", "ON"), ("GET", "k"), ("QUIT",)]
    said = []
    for wire in (redis_wire, strata_wire):
        wire.write(b"".join(encode(*call) for call in script))
        said.append(wire.read_to_end())
    assert said[1] == said[0]


def is_silent(wire: WireClient) -> bool:
    wire._sock.settimeout(NO_ANSWER_S)
    try:
        wire._sock.recv(1)
    except TimeoutError:
        return True
    finally:
        wire._sock.settimeout(wire.timeout_s)
    return False


def test_a_pause_holds_commands_back_until_it_is_over(strata_server: Process) -> None:
    with strata_server.client() as one, strata_server.client() as other:
        assert one.send("CLIENT", "PAUSE", 60_000, "WRITE").raw == b"+OK\r\n"
        assert other.send("GET", "nosuch").raw == b"$-1\r\n"
        other.write(encode("SET", "k", "v"))
        assert is_silent(other)
        assert one.send("CLIENT", "UNPAUSE").raw == b"+OK\r\n"
        assert other.read().raw == b"+OK\r\n"
        started = time.monotonic()
        assert one.send("CLIENT", "PAUSE", 300, "ALL").raw == b"+OK\r\n"
        assert other.send("PING").raw == b"+PONG\r\n"
        assert time.monotonic() - started > 0.2


def test_unblock_ends_the_wait_of_another_client(strata_server: Process) -> None:
    with strata_server.client() as one, strata_server.client() as other:
        number = other.send("CLIENT", "ID").frame.number or 0
        for reason, reply in ((), b":0\r\n"), (("ERROR",), b"-UNBLOCKED"):
            other.write(encode("WAIT", 1, 0))
            assert is_silent(other)
            assert one.send("CLIENT", "UNBLOCK", number, *reason).raw == b":1\r\n"
            assert other.read().raw.startswith(reply)


# with a password


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Process]]:
    """Both servers with requirepass."""
    root: Path = tmp_path_factory.mktemp("guarded")
    redis = RedisServer(root / "redis").start()
    strata = StrataServer(root / "strata", flags=["--requirepass", "sesame"]).start()
    with redis.client() as client:
        client.send("CONFIG", "SET", "requirepass", "sesame")
    yield redis, strata
    redis.stop()
    strata.stop()


GUARDED = """
PING | GET k | nosuch | GET | EXEC | EXEC x | MULTI | DISCARD | HELLO | HELLO 3
HELLO 3 AUTH default wrong | AUTH wrong
AUTH default wrong | AUTH nobody sesame | CLIENT ID | COMMAND COUNT x | AUTH sesame | PING
ACL LIST | ACL GETUSER default | RESET | PING | AUTH default sesame | PING
CONFIG SET requirepass other | PING | RESET | AUTH sesame | AUTH other
CONFIG SET requirepass sesame | PING | QUIT
"""


def test_nothing_but_auth_without_the_password(guarded: tuple[Process, Process]) -> None:
    with guarded[0].client() as redis, guarded[1].client() as strata:
        same_bytes(redis, strata, calls(GUARDED))


def test_hello_lets_in(guarded: tuple[Process, Process]) -> None:
    with guarded[1].client() as client:
        frame = client.send("HELLO", 3, "AUTH", "default", "sesame", "SETNAME", "me").frame
        assert frame.kind == "%"
        assert client.send("CLIENT", "GETNAME").frame.data == b"me"


def test_passwords_are_not_shown(guarded: tuple[Process, Process]) -> None:
    with guarded[1].client() as watcher, guarded[1].client() as actor:
        watcher.send("AUTH", "sesame")
        assert watcher.send("MONITOR").raw == b"+OK\r\n"
        actor.send("AUTH", "default", "sesame")
        shown = watcher.read().frame.data or b""
        assert shown.endswith(b'"AUTH" "(redacted)" "(redacted)"')
        actor.send("CONFIG", "SET", "slowlog-log-slower-than", 0)
        actor.send("CONFIG", "SET", "requirepass", "sesame")
        for name in ("cache-url", "zset-store-url"):
            actor.send("CONFIG", "SET", "timeout", "0", name, "redis://:sesame@127.0.0.1:1/0")
            actor.send("CONFIG", "SET", name, "")
        actor.send("CONFIG", "SET", "masterauth", "sesame")
        actor.send("HELLO", "3", "SETNAME", "auth", "AUTH", "default", "sesame")
        actor.send("HELLO", "2", "AUTH", "default", "sesame", "SETNAME", "me")
        actor.send("ACL", "SETUSER", "me", ">sesame")
        log = str(actor.send("SLOWLOG", "GET", -1))
        actor.send("CONFIG", "SET", "slowlog-log-slower-than", 10000)
        assert "redacted" in log
        assert "sesame" not in log


def test_the_list_of_clients_tells_the_last_command_of_each(
    strata_wire: WireClient, strata_server: StrataServer
) -> None:
    with strata_server.client() as other:
        number = other.send("CLIENT", "ID").frame.number or 0
        for call, shown in [
            (("GET", "k"), b"get"),
            (("LPUSH", "k", "x"), b"lpush"),
            (("CLIENT", "GETNAME"), b"client|getname"),
        ]:
            other.send(*call)
            listed = strata_wire.send("CLIENT", "LIST", "ID", number).frame.data or b""
            assert b" cmd=%b " % shown in listed, listed
        other.write(encode("BLPOP", "none", "0"))
        while b" cmd=blpop " not in (listed := _listed(strata_wire, number)):
            assert b" cmd=client|getname " in listed


def _listed(wire: WireClient, number: int) -> bytes:
    return wire.send("CLIENT", "LIST", "ID", number).frame.data or b""
