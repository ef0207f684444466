"""Set commands over the wire: each reply is the one of a real Redis, byte for byte."""

import pytest

from tests.commands.frames import shape, unordered
from tests.harness.wire import WireClient

HUGE = "9223372036854775807"
TINY = "-9223372036854775808"

CALLS = [
    "SADD s a",
    "SADD s a",
    "SADD s a b c b",
    "SADD t b c d",
    "SADD u c",
    "SCARD s",
    "SCARD none",
    "SMEMBERS s",
    "SMEMBERS none",
    "SISMEMBER s a",
    "SISMEMBER s x",
    "SISMEMBER none x",
    "SMISMEMBER s a x b",
    "SMISMEMBER none a x",
    "SINTER s t",
    "SINTER s t u",
    "SINTER s none t",
    "SINTER s",
    "SUNION s t none u",
    "SUNION none",
    "SDIFF s t",
    "SDIFF s none u",
    "SDIFF none s",
    "SDIFF s s",
    "SINTERCARD 2 s t",
    "SINTERCARD 2 s t LIMIT 1",
    "SINTERCARD 2 s t LIMIT 0",
    "SINTERCARD 1 s LIMIT 2 limit 1",
    "SINTERCARD 2 s none",
    "SINTERCARD 0 s",
    "SINTERCARD x s",
    "SINTERCARD 2 s",
    "SINTERCARD 1 s LIMIT",
    "SINTERCARD 1 s LIMIT -1",
    "SINTERCARD 1 s LIMIT x",
    "SINTERCARD 1 s t",
    "SINTERCARD 2 none string",
    "SINTERSTORE into s t",
    "SMEMBERS into",
    "SUNIONSTORE into into u t",
    "SMEMBERS into",
    "SDIFFSTORE into into u",
    "SMEMBERS into",
    "SDIFFSTORE into s s",
    "EXISTS into",
    "SINTERSTORE into none string",
    "SUNIONSTORE into none string",
    "SDIFFSTORE into none string",
    "SUNIONSTORE other none",
    "SMOVE s t a",
    "SMOVE s t a",
    "SMOVE s s b",
    "SMOVE s s x",
    "SMOVE none string a",
    "SMOVE s string x",
    "SMOVE string s x",
    "SMEMBERS s",
    "SMEMBERS t",
    "SSCAN u 0",
    "SSCAN u 0 MATCH x*",
    "SSCAN u 0 MATCH",
    "SSCAN u 0 COUNT 0",
    "SSCAN u 0 COUNT x",
    "SSCAN u x",
    "SSCAN none 0 NONSENSE",
    "SSCAN string 0",
    "SRANDMEMBER none",
    "SRANDMEMBER none 2",
    "SRANDMEMBER none -2",
    "SRANDMEMBER s 0",
    "SRANDMEMBER s 10",
    f"SRANDMEMBER s {HUGE}",
    f"SRANDMEMBER s {TINY}",
    "SRANDMEMBER s x",
    "SRANDMEMBER s 1 2",
    "SRANDMEMBER u",
    "SRANDMEMBER u -3",
    "SRANDMEMBER string",
    "SPOP none",
    "SPOP none 3",
    "SPOP s 0",
    "SPOP s -1",
    "SPOP s x",
    "SPOP s 1 2",
    "SPOP string",
    "SPOP u",
    "EXISTS u",
    "SPOP t 100",
    "EXISTS t",
    "SREM s b x b",
    "SREM none b",
    "SREM s c",
    "EXISTS s",
    "SADD string a",
    "SREM string a",
    "SMEMBERS string",
    "SINTER none string",
]
UNORDERED = frozenset({"SMEMBERS", "SINTER", "SUNION", "SDIFF", "SSCAN", "SRANDMEMBER", "SPOP"})


def test_replies_are_those_of_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for client in (redis_wire, strata_wire):
        client.send("SET", "string", "text")
    for call in CALLS:
        words = call.split()
        redis, strata = redis_wire.send(*words), strata_wire.send(*words)
        assert strata.raw == redis.raw or (
            words[0] in UNORDERED and unordered(strata.frame) == unordered(redis.frame)
        ), f"{call}: {strata} where Redis says {redis}"


@pytest.mark.parametrize("call", ["SRANDMEMBER s", "SRANDMEMBER s 4", "SRANDMEMBER s -40"])
@pytest.mark.parametrize("pop", ["SPOP s", "SPOP s 4", "SPOP s 8"])
def test_random_members_have_the_shape_of_redis(
    redis_wire: WireClient, strata_wire: WireClient, call: str, pop: str
) -> None:
    for client in (redis_wire, strata_wire):
        client.send("SADD", "s", *range(9))
    for words in (call.split(), pop.split(), ["SCARD", "s"]):
        assert shape(strata_wire.send(*words).frame) == shape(redis_wire.send(*words).frame)
    assert strata_wire.send("SCARD", "s").raw == redis_wire.send("SCARD", "s").raw


def test_large_sets(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for client in (redis_wire, strata_wire):
        for start in range(0, 4000, 500):
            client.send("SADD", "one", *range(start, start + 500))
            client.send("SADD", "two", *range(start + 1500, start + 2000))
    for call in (
        "SMEMBERS one",
        "SUNION one two",
        "SINTER one two",
        "SDIFF one two",
        "SINTERCARD 2 one two LIMIT 1234",
        "SUNIONSTORE one one two",
        "SMEMBERS one",
        "SRANDMEMBER two 10000",
        "SPOP two 10000",
        "EXISTS two",
    ):
        redis, strata = redis_wire.send(*call.split()), strata_wire.send(*call.split())
        assert unordered(strata.frame) == unordered(redis.frame), call


def test_a_large_set_can_be_popped_empty(strata_wire: WireClient) -> None:
    strata_wire.send("SADD", "s", *range(1500))
    popped: list[bytes] = []
    for count in (700, 100, 300):
        popped += strata_wire.send("SPOP", "s", count).frame.blobs()
    for reply in strata_wire.pipeline([("SPOP", "s")] * 401):
        popped += [reply.frame.data] if reply.frame.data is not None else []
    assert sorted(popped) == sorted(b"%d" % number for number in range(1500))
    assert strata_wire.send("EXISTS", "s").frame.number == 0
