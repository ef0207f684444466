"""Commands on keys over the wire: the same replies as redis-server."""

import pytest

from tests.commands.scripts import assert_same_replies
from tests.harness.wire import WireClient

SCRIPTS = {
    "existence": r"""
        SET a 1
        SET b 2
        SET t 3 EX 10000
        DEL
        DEL a a x
        UNLINK
        UNLINK b x b
        EXISTS
        EXISTS t t x
        TOUCH t x t
        TOUCH
        TYPE t
        TYPE x
        TYPE
        TYPE a b
    """,
    "expire": r"""
        SET a 1
        EXPIRE
        EXPIRE a
        EXPIRE a 10 NX XX
        EXPIRE a 10 nx gt
        EXPIRE a 10 GT LT
        EXPIRE a 10 XX GT
        TTL a
        EXPIRE a 10 XX
        EXPIRE a 10 GT
        TTL a
        EXPIRE a 10 LT
        TTL a
        EXPIRE a 100 NX
        TTL a
        EXPIRE a 5 GT
        EXPIRE a 1000 GT
        EXPIRE a 2000 LT
        EXPIRE a 500 XX LT
        EXPIRE a 600 XX GT
        TTL a
        PERSIST a
        PERSIST a
        PERSIST x
        TTL a
        PTTL a
        EXPIRETIME a
        PEXPIRETIME a
        TTL x
        PTTL x
        EXPIRETIME x
        PEXPIRETIME x
        EXPIRE a 100 FOO
        EXPIRE a 100 "FO\x00O"
        EXPIRE a 100 "FO\r\nO"
        EXPIRE a 100 NX FOO
        EXPIRE a x FOO
        EXPIRE a x NX
        EXPIRE a 10 NX NX
        EXPIRE a ""
        EXPIRE a 1.5
        EXPIRE a 9223372036854775807
        EXPIRE a 9223372036854775
        EXPIRE a 9223372036854776
        EXPIRE a -9223372036854776
        EXPIRE x 9223372036854775807
        PEXPIRE a 9223372036854775807
        PEXPIRE a 9223372036854775808
        EXPIREAT a 9223372036854775807
        EXPIREAT a 9223372036854775
        EXPIRETIME a
        PEXPIRETIME a
        PEXPIREAT a 9223372036854775807
        EXPIRETIME a
        PEXPIRETIME a
        EXPIREAT a 5000000000
        EXPIRETIME a
        PEXPIREAT a 5000000000499
        EXPIRETIME a
        PEXPIREAT a 5000000000500
        EXPIRETIME a
        EXPIREAT a 6000000000 GT
        EXPIREAT a 6000000000 GT
        EXPIREAT a 6000000000 LT
        EXPIREAT a 7000000000 LT
        EXPIREAT a 7000000000 NX
        PEXPIREAT a 1 NX
        EXPIREAT a 7000000000 XX
        PEXPIRETIME a
        EXPIRE a -9223372036854775
        EXISTS a
        SET a 1
        EXPIRE a -1 GT
        EXPIRE a -1 XX
        EXPIRE a -1 LT
        EXISTS a
        SET a 1
        EXPIRE a 0
        DBSIZE
        SET a 1
        PEXPIRE a -9223372036854775808
        EXISTS a
        SET a 1
        PEXPIREAT a -9223372036854775808
        EXISTS a
        SET a 1
        EXPIREAT a 0
        SET a 1
        EXPIREAT a 1 NX
        EXISTS a
    """,
    "rename": r"""
        RENAME x y
        RENAME x x
        RENAMENX x x
        RENAMENX x y
        RENAME x
        SET a 1 PXAT 5000000000000
        RENAME a a
        RENAMENX a a
        RENAME a b
        EXISTS a
        GET b
        PEXPIRETIME b
        SET c 5
        RENAMENX b c
        RENAMENX b d
        PEXPIRETIME d
        RENAME d c
        GET c
        PEXPIRETIME c
        DBSIZE
    """,
    "copy and move": r"""
        SET c 1 PXAT 5000000000000
        COPY
        COPY c
        COPY c c
        COPY c c REPLACE
        COPY c c DB 0
        COPY c c DB 1
        COPY c c DB 1
        COPY c c DB 1 REPLACE
        COPY c c REPLACE DB 1
        COPY x y
        COPY x x
        COPY c d DB
        COPY c d DB x
        COPY c d DB 99999999999
        COPY c d DB 99999999999999999999
        COPY c d DB 16
        COPY c d DB -1
        COPY c d DB 1.0
        COPY c d FOO
        COPY c d REPLACE REPLACE
        COPY c d DB 1 DB 0
        COPY c d db 1 db 0 replace
        PEXPIRETIME d
        SELECT 1
        KEYS *
        GET c
        PEXPIRETIME c
        SELECT 0
        MOVE
        MOVE c
        MOVE c 0
        MOVE x 0
        MOVE x 1
        MOVE c 1
        MOVE d 1
        EXISTS d
        MOVE d 2
        MOVE c 4294967296
        MOVE c x
        MOVE c 16
        MOVE c -1
        MOVE c ""
        SELECT 1
        GET d
        PEXPIRETIME d
        DBSIZE
        SELECT 0
        DBSIZE
        DBSIZE x
    """,
    "keys and scan": r"""
        MSET foo 1 foobar 2 bar 3 f[o 4 "" 5 "a\x00b" 6 "\xff" 7
        KEYS *
        KEYS foo
        KEYS foo*
        KEYS f\\[o
        KEYS f?o
        KEYS [^f]*
        KEYS ""
        KEYS nosuch
        KEYS
        KEYS **
        KEYS "a\x00b"
        KEYS a b
        SCAN
        SCAN 0 COUNT 0
        SCAN 0 COUNT -1
        SCAN 0 COUNT x
        SCAN 0 COUNT 99999999999999999999
        SCAN 0 COUNT
        SCAN 0 MATCH
        SCAN 0 TYPE
        SCAN 0 FOO
        SCAN 0 FOO bar
        SCAN 0 MATCH foo
        SCAN 0 MATCH foo COUNT 1000
        SCAN 0 match foo type STRING
        SCAN 0 MATCH foo TYPE hash
        SCAN 0 MATCH foo TYPE nosuch
        SCAN 0 MATCH nosuch MATCH foo
        SCAN abc
        SCAN " 0"
        SCAN "0 "
        SCAN 0x1
        SCAN 18446744073709551616
        SCAN 18446744073709551615 MATCH nosuch
        SCAN -1 MATCH nosuch
        SCAN +0 MATCH foo COUNT 100
        SCAN -0 MATCH foo COUNT 100
        SCAN "" MATCH foo COUNT 100
        SCAN "\x00" MATCH foo COUNT 100
        SCAN "0\x00zz" MATCH foo COUNT 100
        SCAN 00000000000000000000000000 MATCH foo COUNT 100
        SCAN -18446744073709551616
        SCAN + MATCH foo
        SCAN abc COUNT x
    """,
    "randomkey and object": r"""
        RANDOMKEY
        SET a 1
        RANDOMKEY
        RANDOMKEY x
        OBJECT
        OBJECT foo
        OBJECT foo bar
        OBJECT HELP
        OBJECT HELP x
        OBJECT ENCODING
        OBJECT ENCODING a b
        OBJECT ENCODING a
        OBJECT ENCODING x
        OBJECT encoding a
        OBJECT REFCOUNT a
        OBJECT REFCOUNT x
        OBJECT IDLETIME x
        OBJECT FREQ a
        OBJECT FREQ x
        SET a 10000
        OBJECT REFCOUNT a
        SET a 9999
        OBJECT REFCOUNT a
        SET a -1
        OBJECT REFCOUNT a
        OBJECT ENCODING a
        SET a ""
        OBJECT ENCODING a
        SET a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        OBJECT ENCODING a
        SET a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        OBJECT ENCODING a
    """,
    "collections": r"""
        HSET h f1 v1 f2 v2
        SADD s a b c
        SADD i 1 2 3
        ZADD z 1 a 2 b
        ZADD made 0 x 1 y 2 z
        SORT made BY nosort STORE l
        DEL made
        OBJECT ENCODING h
        OBJECT ENCODING s
        OBJECT ENCODING i
        OBJECT ENCODING z
        OBJECT ENCODING l
        OBJECT REFCOUNT l
        OBJECT FREQ l
        PEXPIREAT h 5000000000000
        PEXPIREAT z 5000000000000
        COPY h h2
        COPY s s2
        COPY z z2
        COPY l l2
        HGETALL h2
        SMEMBERS s2
        ZRANGE z2 0 -1
        SORT l2 BY nosort
        PEXPIRETIME h2
        PEXPIRETIME s2
        PEXPIRETIME z2
        TYPE h2
        TYPE z2
        TYPE l2
        DEL h
        HGETALL h2
        RENAME h2 h
        HGETALL h
        EXISTS h2
        PEXPIRETIME h
        RENAME z2 s2
        TYPE s2
        ZRANGE s2 0 -1
        ZRANGE z 0 -1
        MOVE z 3
        MOVE s 3
        MOVE l 3
        EXISTS z s l
        SELECT 3
        ZRANGE z 0 -1
        PEXPIRETIME z
        SORT l BY nosort
        SMEMBERS s
        DBSIZE
        COPY l z DB 0
        COPY l s2 DB 0
        COPY l s2 DB 0 REPLACE
        SELECT 0
        TYPE z
        TYPE s2
        SORT s2 BY nosort
        DBSIZE
        SCAN 0 TYPE hash
        SCAN 0 TYPE HASH COUNT 100 MATCH h*
        SCAN 0 TYPE zset
        SCAN 0 TYPE none
        KEYS *
        RENAMENX h l2
        RENAMENX h h9
        HGETALL h9
        EXPIRE h9 -1
        HGETALL h9
        DEL l2 s2 i
        DBSIZE
        KEYS *
        SADD big1 1 2 9223372036854775807 -9223372036854775808
        OBJECT ENCODING big1
        SADD big2 9223372036854775808
        OBJECT ENCODING big2
        SADD big3 01
        OBJECT ENCODING big3
        SADD big4 ""
        OBJECT ENCODING big4
        HSET hb1 f xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        OBJECT ENCODING hb1
        HSET hb2 f xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        OBJECT ENCODING hb2
        HSET hb3 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx f
        OBJECT ENCODING hb3
        ZADD zb2 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        OBJECT ENCODING zb2
        ZADD zb1 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        OBJECT ENCODING zb1
    """,
    "in a transaction": r"""
        MSET a 1 b 2
        MULTI
        SET c 3 PXAT 5000000000000
        DEL a
        KEYS c*
        KEYS a*
        SCAN 0 MATCH c
        DBSIZE
        RENAME c d
        EXPIRE b -1
        RANDOMKEY
        COPY d d DB 1
        MOVE d 2
        EXEC
        KEYS *
        DBSIZE
        SELECT 1
        PEXPIRETIME d
        SELECT 2
        PEXPIRETIME d
    """,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_same_replies(script: str, redis_wire: WireClient, strata_wire: WireClient) -> None:
    assert_same_replies(SCRIPTS[script], redis_wire, strata_wire)


def fill(client: WireClient, count: int) -> None:
    """A hash, a set, a sorted set of that many elements; enough to make commands on them long."""
    numbers = range(count)
    client.send("HSET", "hash", *[word for n in numbers for word in (f"field:{n}", f"value:{n}")])
    client.send("SADD", "set", *[f"member:{n}" for n in numbers])
    client.send("ZADD", "zset", *[word for n in numbers for word in (n % 100, f"member:{n}")])


LONG = """
    PEXPIREAT zset 5000000000000
    COPY hash hash2
    COPY hash hash2
    COPY set hash2 REPLACE
    SCARD hash2
    RENAME zset zset2
    ZRANGE zset2 0 -1 WITHSCORES
    PEXPIRETIME zset2
    EXISTS zset
    COPY zset2 other DB 1
    MOVE hash 1
    EXISTS hash
    DBSIZE
    SELECT 1
    HGETALL hash
    ZRANGE other 0 -1
    PEXPIRETIME other
    DBSIZE
    DEL hash other
    SELECT 0
    KEYS *
    SMEMBERS hash2
    OBJECT ENCODING hash2
    DEL hash2 set zset2
    DBSIZE
"""


def test_collections_too_large_for_one_turn(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for wire in (redis_wire, strata_wire):
        fill(wire, 3000)
    assert_same_replies(LONG, redis_wire, strata_wire)


def test_many_keys(strata_wire: WireClient) -> None:
    names = [f"key:{number}".encode() for number in range(2500)]
    strata_wire.send("MSET", *[word for name in names for word in (name, b"value")])
    assert sorted(strata_wire.send("KEYS", "*").frame.blobs()) == sorted(names)
    assert strata_wire.send("KEYS", "key:12*").frame.items
    for count in (10, 1000, 100_000):
        assert sorted(scan_all(strata_wire, count)) == sorted(names)
    assert strata_wire.send("RANDOMKEY").frame.data in names
    assert strata_wire.send("UNLINK", *names).frame.number == len(names)
    assert strata_wire.send("DBSIZE").frame.number == 0


def scan_all(client: WireClient, count: int) -> list[bytes]:
    found: list[bytes] = []
    cursor = b"0"
    while True:
        frame = client.send("SCAN", cursor, "COUNT", count).frame
        assert frame.items is not None
        cursor = frame.items[0].data or b""
        found += frame.items[1].blobs()
        if cursor == b"0":
            return found
