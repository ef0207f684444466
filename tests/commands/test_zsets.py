"""Sorted set commands over the wire: each reply is the one of a real Redis, byte for byte."""

import pytest

from tests.commands.frames import shape, unordered
from tests.commands.scripts import assert_same_replies
from tests.harness.wire import WireClient

MEMBERS = r"""
ZADD z 1 a
ZADD z 1 a 2 b 3 c
ZADD z CH 5 a 6 d
ZADD z NX 9 a 9 e
ZADD z XX CH 7 a 7 f
ZADD z GT CH 6 a 8 b
ZADD z LT CH 6 a 9 b
ZADD z INCR 2.5 a
ZADD z NX INCR 1 a
ZADD z XX INCR 1 none
ZADD none XX INCR 1 a
ZADD none XX 1 a
EXISTS none
ZADD z GT INCR -1 a
ZADD z nx xx 1 a
ZADD z nx gt 1 a
ZADD z gt lt 1 a
ZADD z INCR 1 a 2 b
ZADD z 1 a 2
ZADD z NX XX
ZADD z CH CH 1 a
ZADD z x a
ZADD z "" a
ZADD z nan a
ZADD z " 1" a
ZADD z 1e400 a
ZADD string 1 a
ZADD string x a
ZADD i inf a -inf b +Infinity c 0x10 d .5 e 1e-5 f 123456789012345678 g
ZINCRBY i -inf a
ZINCRBY i 1e308 d
ZINCRBY i nx d
ZINCRBY i x d
ZINCRBY fresh 1.5 m
ZCARD i
ZCARD none
ZCARD string
ZSCORE i g
ZSCORE i none
ZSCORE none a
ZMSCORE i a none f
ZMSCORE none a b
ZRANK i a
ZRANK i none
ZRANK none a
ZREVRANK i a
ZSCAN i 0
ZSCAN i 0 MATCH [ab] COUNT 100
ZSCAN i x
ZSCAN i 0 COUNT 0
ZSCAN none 0 NONSENSE
ZSCAN string 0
ZREM i g none g
ZREM none a
ZREM string a
ZPOPMIN i
ZPOPMAX i
ZPOPMIN i 2
ZPOPMAX i 0
ZPOPMIN i -1
ZPOPMIN i x
ZPOPMIN i 1 2
ZPOPMIN none
ZPOPMIN none 1
ZPOPMIN string
ZPOPMAX i 100
EXISTS i
ZMPOP 2 none z MIN
ZMPOP 2 none z max COUNT 2
ZMPOP 1 none MIN
ZMPOP 0 z MIN
ZMPOP x z MIN
ZMPOP 1 z
ZMPOP 1 z UP
ZMPOP 1 z MIN COUNT 0
ZMPOP 1 z MIN COUNT 1 COUNT 1
ZMPOP 1 z MIN COUNT
ZMPOP 2 string z MIN
ZRANDMEMBER none
ZRANDMEMBER none 3
ZRANDMEMBER z 0
ZRANDMEMBER z 100
ZRANDMEMBER z 100 WITHSCORES
ZRANDMEMBER z x
ZRANDMEMBER z 1 NONSENSE
ZRANDMEMBER z -9223372036854775808
ZRANDMEMBER z 4611686018427387904 WITHSCORES
ZRANDMEMBER fresh
ZRANDMEMBER fresh -3 WITHSCORES
ZRANDMEMBER string 1
"""

RANGES = r"""
ZADD z 1 a 2 b 2 c 3 d -1.5 e inf f
ZADD lex 0 "" 0 a 0 aa 0 b 0 c 0 \xff
ZADD mixed 1 d 2 c 3 b 4 a 5 c2
ZRANGE z 0 -1
ZRANGE z 0 -1 WITHSCORES
ZRANGE z -2 -1 REV withscores
ZRANGE z 1 1
ZRANGE z 5 2
ZRANGE z 1 100
ZRANGE z x 1
ZRANGE z 0 -1 LIMIT 0 1
ZRANGE z 0 -1 LIMIT 0 -1
ZRANGE z 0 -1 NONSENSE
ZRANGE z 0 -1 BYSCORE BYLEX
ZRANGE none 0 -1
ZRANGE string 0 -1
ZRANGE string x -1
ZRANGE z (1 +inf BYSCORE
ZRANGE z +inf (1 BYSCORE REV LIMIT 1 2 WITHSCORES
ZRANGE z 1 2 BYSCORE LIMIT -1 2
ZRANGE z 1 2 BYSCORE LIMIT 0 -5
ZRANGE z 1 2 BYSCORE LIMIT 0
ZRANGE z "" " 2" BYSCORE
ZRANGE z 1e400 2 BYSCORE
ZRANGE z 0x 2 BYSCORE
ZRANGE z nan 2 BYSCORE
ZRANGE lex - + BYLEX
ZRANGE lex + - BYLEX REV
ZRANGE lex + - BYLEX
ZRANGE lex [a (c BYLEX LIMIT 1 5
ZRANGE lex (c [a BYLEX REV
ZRANGE lex [\xff [\xff BYLEX REV
ZRANGE lex a c BYLEX
ZRANGE lex - + BYLEX WITHSCORES
ZRANGE mixed [b [c BYLEX
ZRANGE mixed - (d BYLEX
ZRANGE mixed [c [b BYLEX REV LIMIT 1 3
ZREVRANGE z 0 1 WITHSCORES
ZREVRANGE z 0 1 LIMIT 0 1
ZREVRANGE z 0 1 REV
ZRANGEBYSCORE z -inf (2 WITHSCORES
ZRANGEBYSCORE z 2 2 LIMIT 1 1
ZRANGEBYSCORE z (2 2
ZRANGEBYSCORE z 1 x
ZREVRANGEBYSCORE z 2 -inf LIMIT 1 2
ZRANGEBYLEX lex [a [b
ZRANGEBYLEX lex (a +
ZREVRANGEBYLEX lex + (a LIMIT 0 2
ZREVRANGEBYLEX lex [a -
ZRANGEBYLEX lex [a [b WITHSCORES
ZCOUNT z (1 3
ZCOUNT z -inf +inf
ZCOUNT z x 3
ZCOUNT none 1 2
ZCOUNT string 1 2
ZLEXCOUNT lex - +
ZLEXCOUNT lex [a (b
ZLEXCOUNT mixed [b [c
ZLEXCOUNT lex a b
ZRANGESTORE to z 1 2
ZRANGE to 0 -1 WITHSCORES
ZRANGESTORE to z (1 3 BYSCORE LIMIT 1 5
ZRANGE to 0 -1 WITHSCORES
ZRANGESTORE to lex [a [b BYLEX REV
ZRANGESTORE z z 0 -2
ZRANGESTORE to z 0 1 WITHSCORES
ZRANGESTORE to none 0 -1
EXISTS to
ZRANGESTORE string z 0 1
TYPE string
ZRANGESTORE to set 0 1
ZREMRANGEBYRANK z 0 1
ZREMRANGEBYSCORE z (2 3
ZREMRANGEBYLEX lex [a (b
ZREMRANGEBYRANK z x 1
ZREMRANGEBYSCORE z x 1
ZREMRANGEBYLEX z x 1
ZREMRANGEBYSCORE none 0 1
ZREMRANGEBYLEX set - +
ZRANGE z 0 -1 WITHSCORES
ZRANGE lex 0 -1
ZREMRANGEBYRANK z 0 -1
EXISTS z
"""

ALGEBRA = r"""
ZADD one 1 a 2 b 3 c
ZADD two 10 b 20 c 30 d
ZADD up inf a 0 z
ZADD down -inf a 1 z
ZUNION 2 one two
ZUNION 2 one two WITHSCORES
ZUNION 3 one two set WEIGHTS 1 2 0.5 AGGREGATE MAX WITHSCORES
ZUNION 2 up down WITHSCORES
ZUNION 2 up down WEIGHTS 0 0 WITHSCORES
ZUNION 2 one one WITHSCORES
ZUNION 1 none
ZUNION 0 one
ZUNION x one
ZUNION 3 one two
ZUNION 2 one two WEIGHTS 1
ZUNION 2 one two WEIGHTS 1 x
ZUNION 2 one two WEIGHTS 1 nan
ZUNION 2 one two AGGREGATE
ZUNION 2 one two AGGREGATE AVG
ZUNION 2 one string
ZUNION 2 one string NONSENSE
ZUNION 2 one two NONSENSE
ZINTER 2 one two WITHSCORES
ZINTER 2 one two AGGREGATE MIN WITHSCORES
ZINTER 2 up down AGGREGATE MIN WEIGHTS 1 0 WITHSCORES
ZINTER 2 one set WITHSCORES
ZINTER 2 one none
ZDIFF 2 one two WITHSCORES
ZDIFF 2 one none
ZDIFF 2 one one
ZDIFF 2 set one WITHSCORES
ZDIFF 2 one two WEIGHTS 1 1
ZDIFF 0 one
ZUNIONSTORE to 2 one two WEIGHTS 2 1
ZRANGE to 0 -1 WITHSCORES
ZUNIONSTORE to 2 to one AGGREGATE MIN
ZRANGE to 0 -1 WITHSCORES
ZINTERSTORE to 2 one two
ZRANGE to 0 -1 WITHSCORES
ZDIFFSTORE to 2 one two
ZRANGE to 0 -1 WITHSCORES
ZDIFFSTORE to 2 one one
EXISTS to
ZINTERSTORE to 2 one none
ZUNIONSTORE to 0 one
ZINTERSTORE to 2 one two WITHSCORES
ZUNIONSTORE string 1 one
TYPE string
ZINTERCARD 2 one two
ZINTERCARD 2 one two LIMIT 1
ZINTERCARD 2 one two LIMIT 0
ZINTERCARD 2 one two LIMIT -1
ZINTERCARD 2 one two LIMIT x
ZINTERCARD 2 one two LIMIT
ZINTERCARD 2 one two WITHSCORES
ZINTERCARD 0 one
"""

COMMANDS = sorted(
    {line.split()[0] for line in (MEMBERS + RANGES + ALGEBRA).splitlines() if line.startswith("Z")}
)


@pytest.mark.parametrize("script", [MEMBERS, RANGES, ALGEBRA], ids=["members", "ranges", "algebra"])
def test_replies_are_those_of_redis(
    redis_wire: WireClient, strata_wire: WireClient, script: str
) -> None:
    for client in (redis_wire, strata_wire):
        client.send("SET", "string", "text")
        client.send("SADD", "set", "a", "x")
    assert_same_replies(script, redis_wire, strata_wire)


WITH_SCORE = """
ZRANK z a WITHSCORE => *2 :0 $1 1 | *2 :0 ,1
ZRANK z b withscore => *2 :1 $3 2.5 | *2 :1 ,2.5
ZREVRANK z b WITHSCORE => *2 :1 $3 2.5 | *2 :1 ,2.5
ZREVRANK z c WITHSCORE => *2 :0 $3 inf | *2 :0 ,inf
ZRANK z none WITHSCORE => *-1 | _
ZRANK none a WITHSCORE => *-1 | _
ZRANK z a foo => -ERR syntax error
ZREVRANK string a WITHSCORES => -ERR syntax error
ZRANK string a WITHSCORE => -WRONGTYPE Operation against a key holding the wrong kind of value
ZRANK z a WITHSCORE x => -ERR wrong number of arguments for 'zrank' command
ZREVRANK z a b c => -ERR wrong number of arguments for 'zrevrank' command
"""
"""In RESP2 and RESP3, as Redis 7.2 answers."""


@pytest.mark.parametrize("encoding", [0, 1, 2])
def test_ranks_with_scores_are_those_of_redis_7_2(encoding: int, strata_wire: WireClient) -> None:
    wire = strata_wire
    wire.send("CONFIG", "SET", "zset-encoding", encoding)
    wire.pipeline([("ZADD", "z", 1, "a", 2.5, "b", "inf", "c"), ("SET", "string", 1)])
    wire.send("CONFIG", "SET", "zset-encoding", 0)
    for line in WITH_SCORE.strip().splitlines():
        call, replies = line.split(" => ")
        wanted = replies.split(" | ")[-1 if wire.protocol == 3 else 0]
        raw = wire.send(*call.split()).raw.decode().replace("\r\n", " ").strip()
        assert raw == wanted, call


@pytest.mark.parametrize("name", COMMANDS)
def test_a_call_without_arguments_is_refused_as_redis_does(
    redis_wire: WireClient, strata_wire: WireClient, name: str
) -> None:
    assert strata_wire.send(name).raw == redis_wire.send(name).raw
    assert strata_wire.send(name, "k").raw == redis_wire.send(name, "k").raw


@pytest.mark.parametrize(
    "call", ["ZRANDMEMBER z 4", "ZRANDMEMBER z -40", "ZRANDMEMBER z -3 withscores"]
)
def test_random_members_have_the_shape_of_redis(
    redis_wire: WireClient, strata_wire: WireClient, call: str
) -> None:
    for client in (redis_wire, strata_wire):
        client.send("ZADD", "z", *(word for number in range(9) for word in (number, number)))
    assert shape(strata_wire.send(*call.split()).frame) == shape(
        redis_wire.send(*call.split()).frame
    )


LONG = """
ZRANGE big 0 -1
ZRANGE big 0 -1 WITHSCORES
ZRANGE big 2000 -1 REV WITHSCORES
ZRANGE big 3000 3002
ZRANGE big -1500 -1200 WITHSCORES
ZRANGE big 5 (900 BYSCORE
ZRANGE big +inf -inf BYSCORE REV LIMIT 10 2500 WITHSCORES
ZCOUNT big 3 900
ZRANK big m3333
ZREVRANK big m3333
ZUNION 2 big other WITHSCORES
ZINTER 2 big other
ZDIFF 2 big other WITHSCORES
ZINTERCARD 2 big other
ZUNIONSTORE to 2 big other
ZRANGE to 0 -1 WITHSCORES
ZRANGESTORE to big 100 -100
ZRANGE to 0 -1 WITHSCORES
ZREMRANGEBYRANK to 1000 -1000
ZREMRANGEBYSCORE to 100 (700
ZRANGE to 0 -1 WITHSCORES
ZPOPMAX to 100
ZPOPMIN big 1500
ZCARD big
ZPOPMIN big 5000
EXISTS big
"""


def test_long_commands(redis_wire: WireClient, strata_wire: WireClient) -> None:
    """Beyond a thousand rows commands go in slices and replies are streams."""
    for client in (redis_wire, strata_wire):
        for start in range(0, 4000, 500):
            pairs = [(n % 1000, f"m{n}") for n in range(start, start + 500)]
            client.send("ZADD", "big", *(word for pair in pairs for word in pair))
            client.send("ZADD", "other", *(word for pair in pairs[::3] for word in pair))
    assert_same_replies(LONG, redis_wire, strata_wire)


def test_a_whole_scan_shows_each_member_once(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for client in (redis_wire, strata_wire):
        client.send("ZADD", "z", *(word for n in range(500) for word in (n, f"m{n}")))
    assert _scanned(strata_wire) == _scanned(redis_wire)


def _scanned(client: WireClient) -> list[object]:
    cursor, seen = b"0", []
    while True:
        position, page = client.send("ZSCAN", "z", cursor, "COUNT", 70).frame.items or ()
        seen += [(unordered(member), unordered(score)) for member, score in page.pairs()]
        assert position.data is not None
        cursor = position.data
        if cursor == b"0":
            return sorted(seen, key=repr)
