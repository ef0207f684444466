"""SORT and SORT_RO over the wire: the same replies as redis-server."""

import pytest

from tests.commands.scripts import assert_same_replies
from tests.harness.wire import WireClient

SCRIPTS = {
    "order and limits": r"""
        ZADD made 0 3 1 1 2 2 3 10 4 -5 5 1.5
        SORT made BY nosort STORE l
        DEL made
        SADD s 3 1 2 10
        ZADD z 5 1 4 2 3 3
        SORT l
        SORT s
        SORT z
        SORT z DESC
        SORT l DESC
        SORT l ALPHA
        SORT l ALPHA DESC
        SORT l LIMIT 1 2
        SORT l LIMIT 0 -1
        SORT l LIMIT 2 -1
        SORT l LIMIT -3 2
        SORT l LIMIT 100 2
        SORT l LIMIT 0 0
        SORT l LIMIT 1 -5
        SORT l LIMIT 5 100
        SORT l LIMIT 9223372036854775807 9223372036854775807
        SORT l LIMIT 1 2 LIMIT 0 1
        SORT l limit 1 2 desc
        SORT l LIMIT 1 2 ALPHA
        SORT l BY nosort
        SORT l BY nosort DESC
        SORT l BY nosort LIMIT 1 2
        SORT l BY nosort DESC LIMIT 1 2
        SORT z BY nosort
        SORT z BY nosort DESC
        SORT z BY nosort LIMIT 1 1
        SORT z BY nosort DESC LIMIT 1 5
        SORT z BY nosort DESC LIMIT 1 5 STORE out
        SORT out BY nosort
        SORT s BY nosort STORE out
        SORT out BY nosort
        SORT s BY nosort STORE out DESC
        SORT out BY nosort
        SORT s BY nosort STORE out DESC LIMIT 1 2 GET # GET w_*
        SORT out BY nosort
        SORT l BY ""
        SORT l BY #
        SORT l BY *
        SORT l GET #
        SORT l GET # GET #
        SORT l GET nostar
        SORT l GET ""
        SORT l GET w_*
    """,
    "weights": r"""
        ZADD made 0 3 1 1 2 2 3 10 4 -5 5 1.5
        SORT made BY nosort STORE l
        DEL made
        SADD s 3 1 2 10
        ZADD z 5 1 4 2 3 3
        MSET w_1 10 w_2 5 w_3 "" w_10 -1 w_1.5 7
        SORT l BY w_*
        SORT l BY w_* DESC
        SORT l BY w_* ALPHA
        SORT l BY w_* ALPHA DESC
        SORT l BY w_* GET w_* GET # GET nope_*
        SORT l BY w_* GET w_* LIMIT 1 2
        SORT l BY w_* GET w_* LIMIT 1 2 STORE out
        SORT out BY nosort
        SORT l BY w_* GET nope* STORE out
        SORT out BY nosort
        TYPE out
        TTL out
        SORT l GET w_* STORE w_1
        TYPE w_1
        SORT w_1 BY nosort
        SORT l GET w_*
        SORT l BY w_*
    """,
    "numbers": r"""
        // SORT of Redis 7.0 does not reset errno: one number out of range spoils later calls,
        // until something else, such as SCAN's cursor, is parsed
        ZADD made 0 3 1 1 2 2 3 10 4 -5 5 1.5
        SORT made BY nosort STORE l
        DEL made
        SADD s 3 1 2 10
        ZADD z 5 1 4 2 3 3
        MSET w_1 10 w_2 5 w_3 "" w_10 -1 w_1.5 7
        SET w_1 abc
        SCAN abc
        SORT l BY w_*
        SCAN abc
        SORT l BY w_* LIMIT 0 0
        SCAN abc
        SORT l BY w_* STORE out
        SORT out BY nosort
        SCAN abc
        SORT l BY w_* ALPHA
        SCAN abc
        SORT l GET w_*
        SET w_1 " 5"
        SCAN abc
        SORT l BY w_*
        SET w_1 "5 "
        SCAN abc
        SORT l BY w_*
        SET w_1 "\t\n\x0b\x0c\r5"
        SCAN abc
        SORT l BY w_*
        SET w_1 " "
        SCAN abc
        SORT l BY w_*
        SET w_1 "5\x00x"
        SCAN abc
        SORT l BY w_*
        SET w_1 "\x00x"
        SCAN abc
        SORT l BY w_*
        SET w_1 0x10
        SCAN abc
        SORT l BY w_*
        SET w_1 1e400
        SCAN abc
        SORT l BY w_*
        SET w_1 1e-400
        SCAN abc
        SORT l BY w_*
        SET w_1 5e-324
        SCAN abc
        SORT l BY w_*
        SET w_1 2.5e-310
        SCAN abc
        SORT l BY w_*
        SET w_1 2e-308
        SCAN abc
        SORT l BY w_*
        SET w_1 inf
        SCAN abc
        SORT l BY w_*
        SET w_1 -infinity
        SCAN abc
        SORT l BY w_*
        SET w_1 nan
        SCAN abc
        SORT l BY w_*
        SET w_1 "nan(x)"
        SCAN abc
        SORT l BY w_*
        SET w_1 1.
        SCAN abc
        SORT l BY w_*
        SET w_1 .5
        SCAN abc
        SORT l BY w_*
        SET w_1 +3
        SCAN abc
        SORT l BY w_*
        SET w_1 -
        SCAN abc
        SORT l BY w_*
        SET w_1 1e
        SCAN abc
        SORT l BY w_*
        SET w_1 0x
        SCAN abc
        SORT l BY w_*
        SET w_1 9223372036854775807
        SCAN abc
        SORT l BY w_*
    """,
    "fields": r"""
        ZADD made 0 3 1 1 2 2 3 10 4 -5 5 1.5
        SORT made BY nosort STORE l
        DEL made
        SADD s 3 1 2 10
        ZADD z 5 1 4 2 3 3
        HSET h_1 f 5 g "x" "" e
        HSET h_2 f 1 "a->b" q
        HSET h_3 f -1
        HSET w_1 f 1
        SORT l BY h_*->f
        SORT l BY h_*->f DESC GET h_*->f GET h_*->g GET h_*->nope GET h_*->a->b GET #
        SORT l BY h_*->f->x GET h_*->
        SORT l BY h_*->g ALPHA
        SORT l BY h_*->g
        SORT l BY w_*->f
        SORT l GET w_*->f
        SORT l GET h_*
        SORT l BY h_*
        SORT l GET *
        SORT l GET *->f
        SORT l GET ->f
        SORT l GET *h->*
        SORT l GET **
        HSET "h_1x" f 7
        SORT l GET h_*x->f
        SET w_1* star
        SET "w_1->" arrow
        SORT l GET w_**
        SORT l GET w_*->
    """,
    "read only and store": r"""
        ZADD made 0 3 1 1 2 2 3 10 4 -5 5 1.5
        SORT made BY nosort STORE l
        DEL made
        SADD s 3 1 2 10
        ZADD z 5 1 4 2 3 3
        HSET h_1 f 5
        HSET h_2 f 1
        HSET h_3 f -1
        MSET w_1 10 w_2 5
        SORT_RO l
        SORT_RO l BY h_*->f GET # DESC LIMIT 0 2 ALPHA
        SORT_RO l STORE x
        SORT_RO x
        SORT_RO h_1
        SORT h_1
        SORT w_2
        SORT w_2 STORE out
        EXISTS out
        SORT w_2 LIMIT a b
        SORT x STORE out
        EXISTS out
        SORT l STORE l
        SORT l BY nosort
        SORT l STORE l STORE l2 DESC
        SORT l2 BY nosort
        SORT s STORE s
        TYPE s
        SORT l ASC DESC ASC
        SORT l FOO
        SORT l STORE
        SORT l GET
        SORT l BY
        SORT l LIMIT 1
        SORT l LIMIT x 1
        SORT l LIMIT 1 x
        SORT l LIMIT x
        SET out v EX 1000
        SORT l STORE out
        TTL out
        ZADD made 0 b 1 a 2 "a\x00b" 3 "a\x00a" 4 "" 5 B 6 ab 7 "\xff" 8 "\x7f"
        SORT made BY nosort STORE words
        DEL made
        SORT words
        SORT words ALPHA
        SORT words ALPHA DESC
        SORT words ALPHA STORE out
        SORT out BY nosort
        SORT words ALPHA DESC STORE out
        SORT out BY nosort
        ZADD made 0 1 1 1.0 2 01 3 +1
        SORT made BY nosort STORE eq
        DEL made
        SORT eq
        SORT eq DESC
        SORT eq ALPHA
        ZADD made 0 "" 1 1 2 -1
        SORT made BY nosort STORE emp
        DEL made
        SORT emp
        SORT emp BY w_* ALPHA GET #
        SADD num 1 2 x
        SORT num
        SORT num LIMIT 0 0
        SORT num BY nosort LIMIT 0 0
        SORT num ALPHA
    """,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_same_replies(script: str, redis_wire: WireClient, strata_wire: WireClient) -> None:
    assert_same_replies(SCRIPTS[script], redis_wire, strata_wire)


LONG = """
    SORT set
    SORT set DESC
    SORT set ALPHA LIMIT 100 50
    SORT zset ALPHA DESC
    SORT zset BY nosort DESC LIMIT 10 20
    SORT set GET # GET w_*
    SORT set BY w_* ALPHA DESC LIMIT 0 3
    SORT set DESC STORE list
    TYPE list
    SORT list BY nosort
    SORT list
    SORT set GET w_* GET # STORE list
    SORT list BY nosort
    SORT list ALPHA LIMIT 2990 100
"""


def test_more_elements_than_one_turn_can_sort(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    numbers = [n * 7919 % 5000 for n in range(5000)]
    for wire in (redis_wire, strata_wire):
        wire.send("SADD", "set", *numbers)
        wire.send("ZADD", "zset", *[word for n in numbers for word in (n % 10, f"m{n}")])
        wire.send("MSET", "w_1", "x", "w_2", "y", "w_4999", "z")
    assert_same_replies(LONG, redis_wire, strata_wire)
