"""Users at work: what each may run, in the bytes of Redis, and what ACL LOG tells of it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, seed, settings

from tests.access.pairs import Pair, Two, words
from tests.differential.inventory import OWN
from tests.differential.strategies import GROUPS
from tests.differential.templates import Args, command, lines
from tests.harness.effort import rounds
from tests.harness.waiting import wait_until
from tests.harness.wire import Frame, WireClient

USERS = {
    "reader": "on >p ~* &* +@read +@connection",
    "writer": "on >p %W~k* %R~s* +@all &c*",
    "prefix": "on >p ~k* ~z? +@all",
    "single": "on >p ~k1 ~list +get +set +@list +select|0 resetchannels",
    "two": "on >p -@all (+@write ~k*) (+@read %R~*) (+@pubsub &c1)",
    "narrow": "on nopass +get (+mget ~k1 ~k2) (+mset ~k3)",
    "nothing": "on >p",
    "all": "on >p ~* &* +@all",
    "fewer": "on >p ~* &* +@all -@dangerous -set +config|get",
}


def make_users(admin: Two) -> None:
    for name, rules in USERS.items():
        admin.same("ACL", "SETUSER", name, *words(rules))


TEMPLATES = [
    line
    for table in GROUPS.values()
    for line in lines(table)
    if line.removeprefix("!").split()[0] not in OWN
]


@pytest.mark.effort
@pytest.mark.parametrize("user", USERS)
def test_random_requests_are_allowed_as_in_redis(user: str, admin: Two, diff_seed: int) -> None:
    """Every form of every command, wrong ones too; nothing of it is run."""
    make_users(admin)
    order = random.Random(diff_seed)
    chosen = order.sample(TEMPLATES, min(len(TEMPLATES), rounds(len(TEMPLATES))))
    for line in chosen:
        dry_run(admin, user, line, diff_seed)


def dry_run(admin: Two, user: str, line: str, number: int) -> None:
    @seed(number)
    @settings(max_examples=4)
    @given(command(line))
    def check(args: Args) -> None:
        redis, strata = admin.send("ACL", "DRYRUN", user, *args)
        if b"wrong number of arguments" not in strata.raw + redis.raw:
            assert strata.raw == redis.raw, (user, args)

    check()


@pytest.mark.parametrize("user", USERS)
def test_every_command_is_allowed_as_in_redis(user: str, admin: Two) -> None:
    """By its name and its least arguments, those too that no random sequence has."""
    make_users(admin)
    different = []
    for name, arity in arities(admin.redis).items():
        parts = name.split("|")
        for argument in ("k1", "other", "c1", "1"):
            call = (*parts, *[argument] * (abs(arity) - len(parts)))
            redis, strata = admin.send("ACL", "DRYRUN", user, *call)
            if redis.raw != strata.raw:
                different.append((call, redis.raw, strata.raw))
    assert [one for one in different if one[0][0] != "restore-asking"] == []


def arities(wire: WireClient) -> dict[str, int]:
    """All commands of a server, subcommands included."""
    names = [name.decode() for name in wire.send("COMMAND", "LIST").frame.blobs()]
    infos = wire.send("COMMAND", "INFO", *names).frame.elements
    return {name: info.elements[1].number or 0 for name, info in zip(names, infos, strict=True)}


CALLS = """
GET k1
GET other
SET k1 v
SET k1 v GET
MSET k1 v k3 v
MGET k1 k2
MGET k1 other k2
MGET k3
DEL k1 other
COPY s1 k1
COPY k1 s1
SORT list
SORT list BY w*
SORT list BY nosort
SORT list GET #
SORT list STORE k1
SORT list LIMIT a b BY w*
SORT_RO list BY w*
SORT_RO list GET w*
BITFIELD k9 GET u8 0
BITFIELD k9 SET u8 0 1
BITFIELD k9 GET u8
EVAL return_1 0
EVAL return_redis.call('get','other') 0
EVAL return_redis.call('get',KEYS[1]) 1 k1
EVAL return_redis.call('get',KEYS[1]) 1 other
EVAL return_redis.pcall('set','other','v') 0
EVAL return_redis.call('publish','x','y') 0
EVAL return_redis.acl_check_cmd('set','k1','v') 0
EVAL return_redis.acl_check_cmd('set','other','v') 0
EVAL return_redis.acl_check_cmd('config','set','a','b') 0
EVAL return_redis.acl_check_cmd('get') 0
EVAL return_redis.acl_check_cmd('nosuch') 0
EVAL_RO return_1 1 s1
EVAL return_1 2 k1
EVAL return_1 x k1
EVAL return_1 1x other
ZUNION 1x other
ZUNIONSTORE other 1 k1
ZUNIONSTORE k1 0 other
XREAD STREAMS k1 0
XREAD STREAMS k1 other 0 0
XREAD STREAMS other
XREADGROUP GROUP streams c STREAMS other >
GEORADIUS k1 1 1 1 m STORE other
PUBLISH c1 x
PUBLISH other x
SPUBLISH other x
SELECT 0
SELECT 1
CONFIG GET timeout
CONFIG SET timeout 0
CONFIG
CLIENT GETNAME
CLIENT KILL ID 999999
ACL WHOAMI
ACL LIST x
COMMAND COUNT x
PING
ECHO x
NOSUCH
GET
DBSIZE x
TYPE k1
EXISTS k1 other
WATCH k1
WATCH other
UNWATCH
MIGRATE h 1 other 0 1 KEYS k1
MIGRATE h 1 _ 0 x AUTH KEYS KEYS other
MIGRATE h 1 other 0 x
OBJECT HELP x
MULTI
GET other
EXEC
MULTI
SET k1 v
EXEC
MULTI
PUBLISH other x
DISCARD
RESET
"""


@pytest.mark.parametrize("user", USERS)
def test_commands_are_refused_as_in_redis(user: str, admin: Two, guest: Two) -> None:
    make_users(admin)
    for wire in admin:
        wire.send("RPUSH", "list", "2", "1")
    guest.same("AUTH", user, "p")
    guest.same_lines(CALLS)
    assert_same_log(admin, 100)


def logged(frame: Frame) -> list[list[Frame]]:
    """The entries of ACL LOG, without the client and without the age, which is a number."""
    shown = []
    for entry in frame.elements:
        pairs = {key.data: value for key, value in entry.pairs()}
        assert float(pairs.pop(b"age-seconds").data or b"x") >= 0
        assert b" cmd=" in (pairs.pop(b"client-info").data or b"")
        shown.append([*pairs.values()])
    return shown


def assert_same_log(admin: Two, *count: int) -> None:
    redis, strata = (reply.frame for reply in admin.send("ACL", "LOG", *count))
    assert logged(strata) == logged(redis)
    kinds = [
        [[item.kind for item in entry.elements] for entry in f.elements] for f in (redis, strata)
    ]
    assert kinds[1] == kinds[0]


def test_the_log_groups_what_is_the_same(admin: Two, guest: Two) -> None:
    make_users(admin)
    for _ in range(3):
        guest.same("AUTH", "writer", "wrong")
    guest.same("AUTH", "nobody", "p")
    guest.same("HELLO", "3", "AUTH", "writer", "wrong")
    guest.same("AUTH", "single", "p")
    for line in ("GET other", "GET k2", "GET other", "DBSIZE", "GET other", "PUBLISH a b"):
        guest.same(*line.split())
    guest.same("MULTI")
    guest.same("GET", "other")
    guest.same("AUTH", "single", "wrong")
    guest.same("DISCARD")
    assert_same_log(admin)
    for count in (0, 2, 100):
        assert_same_log(admin, count)
    admin.same("ACL", "LOG", "RESET")
    assert_same_log(admin)


def test_the_log_keeps_as_many_as_the_setting_says(admin: Two, guest: Two) -> None:
    make_users(admin)
    guest.same("AUTH", "single", "p")
    admin.same("CONFIG", "SET", "acllog-max-len", "3")
    for number in range(8):
        guest.same("GET", f"other{number}")
    assert_same_log(admin)
    admin.same("CONFIG", "SET", "acllog-max-len", "128")


def test_the_log_tells_the_context(admin: Two, guest: Two) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "~k*", "+@all", "resetchannels")
    guest.same("AUTH", "u", "x")
    guest.same("MULTI")
    guest.same("SET", "k1", "v")
    guest.same("INCR", "k2")
    admin.same("ACL", "SETUSER", "u", "-set", "resetkeys")
    guest.same("EXEC")
    guest.same("EVAL", "return redis.pcall('get', 'k1')", "0")
    guest.same("EVAL", "redis.call('set', 'k1', 'x')", "0")
    guest.same("GET", "k1")
    assert_same_log(admin)


LIBRARY = """#!lua name=shop
redis.register_function('read', function(keys) return redis.call('get', keys[1]) end)
redis.register_function('write', function() return redis.pcall('set', 'other', 'v') end)
"""


@pytest.mark.parametrize("user", ["reader", "writer", "prefix", "single", "fewer"])
def test_functions_have_the_rights_of_who_calls_them(user: str, admin: Two, guest: Two) -> None:
    make_users(admin)
    for wire in admin:
        wire.send("FUNCTION", "LOAD", "REPLACE", LIBRARY)
        wire.send("ACL", "SETUSER", user, "+fcall")
    guest.same("AUTH", user, "p")
    guest.same_lines("FCALL read 1 k1\nFCALL read 1 other\nFCALL write 0\nFUNCTION DELETE nosuch")
    guest.same("EVAL", "return redis.call('fcall', 'read', 1, 'k1')", "0")
    assert_same_log(admin)


def test_a_changed_user_is_changed_at_once(admin: Two, guest: Two) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all", "&*")
    guest.same("AUTH", "u", "x")
    guest.same("SET", "k", "v")
    admin.same("ACL", "SETUSER", "u", "-set")
    guest.same("SET", "k", "v")
    guest.same("GET", "k")
    admin.same("ACL", "SETUSER", "u", "resetkeys")
    guest.same("GET", "k")
    admin.same("ACL", "SETUSER", "u", "off")
    guest.same("PING")
    guest.same("AUTH", "u", "x")
    admin.same("ACL", "SETUSER", "u", "on", "+@all", "~*")
    guest.same("SET", "k", "w")
    pipeline = [("SET", "k", str(number)) for number in range(40)]
    assert guest.redis.pipeline(pipeline)[-1].raw == guest.strata.pipeline(pipeline)[-1].raw


@pytest.mark.parametrize("user", ["single", "prefix", "writer", "fewer"])
def test_a_pipeline_is_looked_at_request_by_request(user: str, admin: Two, guest: Two) -> None:
    make_users(admin)
    guest.same("AUTH", user, "p")
    calls: list[tuple[str, ...]] = []
    for number in range(60):
        key = "other" if number % 7 == 3 else "k1"
        calls += [("SET", key, str(number)), ("GET", key)] if number % 5 else [("GET", key)] * 9
    calls += [("GET", "k1")] * 20 + [("GET", "k1", "x")] + [("GET", "other")] * 20 + [("PING",)]
    redis, strata = (wire.pipeline(calls) for wire in guest)
    assert [one.raw for one in strata] == [one.raw for one in redis]


def is_cut(wire: WireClient) -> bool:
    try:
        wire.send("PING")
    except OSError:
        return True
    return False


def test_clients_of_deleted_users_are_cut(admin: Two, guest: Two) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all")
    guest.same("AUTH", "u", "x")
    admin.same("ACL", "DELUSER", "u", "nobody")
    assert [is_cut(wire) for wire in guest] == [True, True]
    assert [is_cut(wire) for wire in admin] == [False, False]


def test_who_deletes_himself_hears_so(admin: Two, guest: Two) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all")
    guest.same("AUTH", "u", "x")
    assert guest.same("ACL", "DELUSER", "u") == b":1\r\n"
    assert [is_cut(wire) for wire in guest] == [True, True]


def test_blocked_clients_of_deleted_users_are_cut(pair: Pair, admin: Two, guest: Two) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all")
    guest.same("AUTH", "u", "x")
    for wire in guest:
        wire.write(b"BLPOP k 0\r\n")
    for server in pair:
        server.wait_until_blocked()
    admin.same("ACL", "DELUSER", "u")
    admin.same("RPUSH", "k", "v")
    admin.same("LLEN", "k")
    assert [wire.read_to_end() for wire in guest] == [b"", b""]


def test_a_blocked_client_is_served_as_it_was_when_it_asked(
    pair: Pair, admin: Two, guest: Two
) -> None:
    """Redis 7.0 does not look again; only what it asks next is refused."""
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all")
    guest.same("AUTH", "u", "x")
    for wire in guest:
        wire.write(b"BLPOP k 0\r\n")
    for server in pair:
        server.wait_until_blocked()
    admin.same("ACL", "SETUSER", "u", "resetkeys", "-@all")
    admin.same("RPUSH", "k", "v")
    redis, strata = (wire.read() for wire in guest)
    assert strata.raw == redis.raw
    guest.same("BLPOP", "k", "0")


@pytest.mark.parametrize("call", ["SUBSCRIBE foo:1", "PSUBSCRIBE foo:*", "SSUBSCRIBE foo:1"])
@pytest.mark.parametrize(
    "rules",
    [
        "resetchannels",
        "resetchannels &foo:1",
        "resetchannels &foo:*",
        "allchannels",
        "&more",
        "resetchannels &foo:1 &foo:* &more",
        "(&foo:*) resetchannels",
        "off",
    ],
)
@pytest.mark.parametrize("before", ["&foo:1 &foo:*", "allchannels"])
def test_subscribers_who_lose_a_channel_are_cut(
    before: str, rules: str, call: str, admin: Two, guest: Two
) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "+@all", *before.split())
    guest.same("AUTH", "u", "x")
    guest.same("CLIENT", "SETNAME", "deathrow")
    for wire in guest:
        wire.write(call.encode() + b"\r\n")
        wire.read_any()
    admin.same("ACL", "SETUSER", "u", *rules.split())
    left = [b"name=deathrow " in reply.raw for reply in admin.send("CLIENT", "LIST")]
    assert left[1] == left[0]


def test_clients_are_named_and_killed_by_their_user(admin: Two, guest: Two) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "+@all")
    guest.same("AUTH", "u", "x")
    assert all(b" user=u " in reply.raw for reply in guest.send("CLIENT", "INFO"))
    admin.same("CLIENT", "KILL", "USER", "nobody")
    assert admin.same("CLIENT", "KILL", "USER", "u") == b":1\r\n"
    assert [is_cut(wire) for wire in guest] == [True, True]


def test_without_the_default_user_everybody_has_to_say_who_he_is(
    pair: Pair, admin: Two, protocol: int
) -> None:
    admin.same("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all")
    admin.same("ACL", "SETUSER", "default", "off")
    with pair.clients() as late:
        late.same_lines("PING\nHELLO 3\nACL WHOAMI\nAUTH default x\nAUTH x\nAUTH u wrong\nRESET")
        admin.same("ACL", "SETUSER", "default", "on")
        late.same("PING")
        late.same("HELLO", "3")
        admin.same("ACL", "SETUSER", "default", ">secret")
        late.same_lines("PING\nAUTH u p\nPING\nRESET\nPING\nAUTH secret\nPING\nACL WHOAMI")
    admin.same_lines("PING\nCONFIG SET requirepass foo\nCONFIG GET requirepass\nACL LIST")
    admin.same_lines("RESET\nPING\nAUTH bar\nAUTH foo\nCONFIG SET requirepass _\nACL LIST\nAUTH x")
    for wire in admin:
        wire.send("CONFIG", "SET", "requirepass", "")


def test_a_default_user_with_few_rights_is_looked_at_as_well(admin: Two, pair: Pair) -> None:
    admin.same("ACL", "SETUSER", "boss", "on", ">p", "~*", "&*", "+@all")
    admin.same("ACL", "SETUSER", "default", "-@all", "+ping")
    with pair.clients() as late:
        late.same_lines("PING\nGET k")
        assert not any(one.frame.is_error for one in late.send("HELLO", 2, "AUTH", "boss", "p"))
        late.same_lines("GET k\nRESET\nGET k")
    admin.same_lines("ACL WHOAMI\nAUTH boss p\nACL WHOAMI\nACL SETUSER default +@all")


def test_a_long_transaction_notes_a_refusal_once(admin: Two, guest: Two) -> None:
    """It begins anew in slices: what it has noted before is not noted twice."""
    for wire in admin:
        wire.pipeline([("SADD", "k:big", *range(at, at + 1000)) for at in range(0, 5000, 1000)])
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "~k:*", "+@all")
    guest.same("AUTH", "u", "x")
    guest.same("MULTI")
    guest.same("INCR", "k:n")
    guest.same("SUNIONSTORE", "k:copy", "k:big")
    admin.same("ACL", "SETUSER", "u", "-incr")
    guest.same("EXEC")
    script = "redis.pcall('incr', 'k:n') return redis.call('sunionstore', 'k:c', 'k:big')"
    guest.same("EVAL", script, "0")
    assert_same_log(admin)


def test_a_user_may_have_very_many_patterns(admin: Two, guest: Two) -> None:
    patterns = [f"~p{number}:*" for number in range(500)] + ["~exact", "~[ab]c", "~*:end"]
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "+@all", *patterns)
    guest.same("AUTH", "u", "x")
    for key in ("p7:x", "p500:x", "p499:", "exact", "exactly", "ac", "cc", "x:end", "end", ""):
        guest.same("SET", key, "v")


def test_the_end_of_a_wait_is_told_to_those_who_are_left(admin: Two, guest: Two) -> None:
    admin.same("ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*")
    guest.same("AUTH", "u", "x")
    admin.same("ACL", "DELUSER", "u")
    wait_until(lambda: all(b"user=u " not in one.raw for one in admin.send("CLIENT", "LIST")))


def test_many_users_are_listed_while_others_are_served(admin: Two) -> None:
    """A list of so many is made in slices, and is the same."""
    wire = admin.strata
    categories = [name.decode() for name in wire.send("ACL", "CAT").frame.blobs()]
    for number in range(120):
        first, second = (categories[number * step % len(categories)] for step in (1, 5))
        admin.same("ACL", "SETUSER", f"u{number:03}", f"+@{first}", f"-@{second}", f"~{number}:*")
    assert wire.send("ACL", "LIST").raw == wire.send("ACL", "LIST").raw
    redis, strata = admin.shown("ACL", "LIST")
    assert strata == redis
