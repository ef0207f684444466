"""Scripts over the wire: the same replies as redis-server, byte for byte."""

import pytest

from tests.harness.wire import Arg, WireClient
from tests.scripting import scripts

Call = tuple[Arg, ...]

SHA = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"  # of "return 1"
WRITES = "return redis.call('set','a','b')"
MANY = "local t = {} for i = 1, N do t[i] = i end return redis.call('del', 'x', unpack(t))"

CALLS: list[Call] = [
    ("EVAL",),
    ("EVAL", "return 1"),
    *(
        ("EVAL", "return {KEYS,ARGV}", *more)
        for more in ((0,), ("x",), (-1,), (2, "a"), (1, "a", "b"))
    ),
    ("EVAL", MANY.replace("N", "6999"), 0),
    ("EVAL", MANY.replace("N", "7990"), 0),
    ("EVAL", "return redis.call('xread', 'BLOCK', 0, 'STREAMS', 's', '$')", 0),
    ("EVAL", "return redis.call('XREADGROUP','GROUP','BLOCK','c','STREAMS','s','>')", 0),
    ("EVAL", "return redis.call('XREADGROUP','GROUP','g','c','BLOCK',1,'STREAMS','s','>')", 0),
    ("DEBUG", "SET-DISABLE-DENY-SCRIPTS", 1),
    ("EVAL", "return redis.call('DEBUG', 'PROTOCOL', 'map')", 0),
    ("EVAL", "redis.setresp(3) return redis.call('DEBUG', 'PROTOCOL', 'double')", 0),
    ("EVAL", "redis.setresp(3) return redis.call('DEBUG', 'PROTOCOL', 'bignum')", 0),
    ("EVAL", "redis.setresp(3) return redis.call('DEBUG', 'PROTOCOL', 'attrib')", 0),
    ("EVAL", "return redis.call('DEBUG', 'PROTOCOL', 'bignum')", 0),
    ("DEBUG", "SET-DISABLE-DENY-SCRIPTS", 0),
    ("EVAL", "return redis.call('DEBUG', 'PROTOCOL', 'map')", 0),
    ("EVALSHA", "x", 0),
    ("EVALSHA", "f" * 40, 0),
    ("EVALSHA", "f" * 41, 0),
    ("EVALSHA", "f" * 40, "x"),
    ("EVAL_RO", WRITES, 0),
    ("EVAL_RO", WRITES.replace("call", "pcall"), 0),
    ("EVAL_RO", "return redis.call('get','a')", 0),
    ("EVAL_RO", "#!lua\nreturn 1", 0),
    ("EVAL_RO", "#!lua flags=no-writes\nreturn 1", 0),
    ("SCRIPT", "LOAD", "return 1"),
    ("SCRIPT", "LOAD", "x x"),
    ("SCRIPT", "LOAD", "x", "y"),
    ("SCRIPT", "EXISTS"),
    ("SCRIPT", "EXISTS", SHA, SHA.upper(), "x"),
    ("EVALSHA", SHA, 0),
    ("EVALSHA", SHA.upper(), 0),
    ("EVALSHA_RO", SHA, 0),
    ("SCRIPT", "FLUSH", "x"),
    ("SCRIPT", "FLUSH", "sync"),
    ("SCRIPT", "FLUSH", "async", "x"),
    ("EVALSHA", SHA, 0),
    ("SCRIPT", "KILL"),
    ("SCRIPT", "DEBUG", "NO"),
    ("SCRIPT", "DEBUG", "x"),
    ("SCRIPT", "foo"),
    ("SCRIPT",),
    *(
        ("EVAL", first + "\nreturn redis.call('set','a','1')", 0)
        for first in (
            "#!lua",
            "#!lua name=x",
            "#!lua flags=no-writes",
            "#!lua flags=no-writes,allow-oom",
            "#!lua flags=",
            "#!lua flags=foo",
            "#!lua flags=no-cluster,,",
            "#!lua  flags=no-writes  flags=allow-oom",
            "#!foo",
            "#!",
        )
    ),
    ("EVAL", "#!lua", 0),
    ("EVAL", "#!lua\nsyntax error", 0),
    ("EVAL", "#!lua\n\nerror('x')", 0),
    ("EVAL", "\x1bLua", 0),
]


def lines(group: str) -> list[str]:
    return [line for line in getattr(scripts, group).splitlines() if line]


@pytest.mark.parametrize("group", ["CJSON", "CMSGPACK", "BIT_AND_STRUCT", "SANDBOX", "REPLIES"])
def test_scripts_reply_as_in_redis(
    group: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for line in lines(group):
        call: Call = ("EVAL", line, 2, "k", "h", "arg1", "arg2")
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, line


def test_script_commands_reply_as_in_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for wire in (redis_wire, strata_wire):
        wire.send("SCRIPT", "FLUSH")
    for call in CALLS:
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, call


def test_what_a_script_wrote_before_its_error_stays(strata_wire: WireClient) -> None:
    failed = strata_wire.send("EVAL", "redis.call('set',KEYS[1],'x') error('late')", 1, "k")
    assert failed.frame.is_error
    assert strata_wire.send("GET", "k").frame.data == b"x"


def test_a_script_does_not_change_the_database_of_its_client(strata_wire: WireClient) -> None:
    strata_wire.send("EVAL", "redis.call('select',3) redis.call('set','k','three')", 0)
    assert strata_wire.send("EXISTS", "k").frame.number == 0
    strata_wire.send("SELECT", 3)
    assert strata_wire.send("GET", "k").frame.data == b"three"


def test_scripts_run_in_transactions(redis_wire: WireClient, strata_wire: WireClient) -> None:
    script = "redis.call('incr',KEYS[1]) return redis.call('get',KEYS[1])"
    calls: list[Call] = [
        ("MULTI",),
        ("SET", "k", 5),
        ("EVAL", script, 1, "k"),
        ("EVAL", "error('x')", 0),
        ("INCR", "k"),
        ("EXEC",),
        ("GET", "k"),
    ]
    for call in calls:
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, call


def test_a_table_within_itself_ends_in_an_error(strata_wire: WireClient) -> None:
    reply = strata_wire.send("EVAL", "local t = {} t[1] = t return t", 0)
    assert reply.raw.endswith(b"-ERR reached lua stack limit\r\n")


FAILING = [
    "return redis.error_reply('MY_CODE text')",
    "return {1, {err = 'IN_ARRAY x'}, {err = 'IN_ARRAY y'}}",
    "return redis.call('select', 99)",
    "return redis.pcall('select', 99)",
    "local t = redis.pcall('select', 99) return t.err",
    "local t = redis.pcall('select', 99) error(t)",
    "error('text')",
    "error({err = 'RAISED by the script'})",
    "return redis.call('incr', KEYS[1], 'x')",
    "return redis.call('nosuch')",
    "return nothing",
    "return 1",
]


def test_errors_of_scripts_are_counted_as_redis_counts_them(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for script in FAILING:
        counted = []
        for wire in (redis_wire, strata_wire):
            wire.send("CONFIG", "RESETSTAT")
            wire.send("EVAL", script, 0)
            text = wire.send("INFO", "errorstats", "commandstats", "stats").raw.decode()
            lines = text.split("\r\n")
            calls = next(line for line in lines if line.startswith("cmdstat_eval:"))
            counted.append(
                (
                    sorted(line for line in lines if line.startswith("errorstat_")),
                    next(line for line in lines if line.startswith("total_error_replies")),
                    calls.split(",")[3:],
                )
            )
        assert counted[1] == counted[0], script
