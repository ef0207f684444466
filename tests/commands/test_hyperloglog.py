"""HyperLogLog commands over the wire: redis-server's replies, and its bytes under GET."""

import random

from tests.commands.scripts import assert_same_replies
from tests.harness.wire import Arg, WireClient

SCRIPT = r"""
PFADD h
PFADD h
GET h
PFADD h a b c
PFADD h a b c
PFADD h ""
GET h
PFCOUNT h
GET h
PFCOUNT absent
PFCOUNT h absent
PFCOUNT absent h h
PFMERGE m
GET m
PFMERGE m h absent
GET m
PFCOUNT m
PFMERGE m m
PFDEBUG ENCODING m
PFDEBUG DECODE m
pfdebug todense m
PFDEBUG TODENSE m
PFDEBUG DECODE m
PFDEBUG GETREG m
PFDEBUG GETREG h
PFDEBUG ENCODING h
GET h
PFDEBUG FOO h
PFDEBUG ENCODING absent
PFDEBUG ENCODING
PFDEBUG ENCODING h x
PFSELFTEST
PFSELFTEST x
PFADD
PFCOUNT
PFMERGE
// not HyperLogLogs
SET s hello
SET i 12345
SADD l a
PFADD s a
PFADD i a
PFADD l a
PFCOUNT s
PFCOUNT l
PFCOUNT h s
PFCOUNT l h
PFMERGE h s
PFMERGE l h
PFMERGE s h
PFMERGE new l
EXISTS new
PFDEBUG ENCODING s
PFDEBUG ENCODING l
// broken ones
SET b "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f"
PFCOUNT b
SET b "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff\x00"
PFCOUNT b
PFMERGE new b
PFCOUNT b h
PFDEBUG GETREG b
SET b "HYLL\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00"
PFCOUNT b
PFADD b a
SET b "HYLL\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00"
PFADD b a
SET b "HYLL\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff"
PFCOUNT b
// an expire-time stays
PFADD e a
PEXPIREAT e 9000000000000
PFADD e b
PEXPIRETIME e
PFMERGE e h
PEXPIRETIME e
PFCOUNT e
PEXPIRETIME e
"""


def test_replies(redis_wire: WireClient, strata_wire: WireClient) -> None:
    assert_same_replies(SCRIPT, redis_wire, strata_wire)


def random_call(rng: random.Random) -> tuple[Arg, ...]:
    key, others = rng.choice("abcd"), [rng.choice("abcde") for _ in range(rng.randrange(4))]
    what = rng.random()
    if what < 0.75:
        most = 10 ** rng.randrange(1, 7)
        return "PFADD", key, *(rng.randrange(most) for _ in range(rng.choice((1, 2, 30, 300))))
    if what < 0.97:
        return rng.choice(("PFCOUNT", "PFMERGE")), key, *others
    return "DEL", key


def test_random_calls_leave_the_same_bytes(
    redis_wire: WireClient, strata_wire: WireClient, diff_seed: int
) -> None:
    rng = random.Random(diff_seed)
    calls: list[tuple[Arg, ...]] = []
    for _ in range(150):
        calls += [random_call(rng), ("MGET", *"abcd")]
    expected, found = redis_wire.pipeline(calls), strata_wire.pipeline(calls)
    for call, one, other in zip(calls, expected, found, strict=True):
        assert one.raw == other.raw, call


def test_the_dense_form_is_restored_from_a_string(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis_wire.send("PFADD", "k", *range(5000))
    value = redis_wire.send("GET", "k").frame.data
    assert value is not None
    assert len(value) == 12304
    strata_wire.send("SET", "k", value)
    assert strata_wire.send("PFCOUNT", "k").raw == redis_wire.send("PFCOUNT", "k").raw
