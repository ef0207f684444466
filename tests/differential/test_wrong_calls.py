"""Calls that reach no command: wrong arity, unknown names; the bytes of the error are those of
Redis.
"""

from __future__ import annotations

import pytest

from tests.differential.inventory import COMMANDS, CONTAINERS, GROWN
from tests.harness.wire import Reply, WireClient, encode


def replies(redis: WireClient, strata: WireClient, *args: bytes) -> tuple[Reply, Reply]:
    return redis.send(*args), strata.send(*args)


def wrong_counts(arity: int, prefix: int) -> range | list[int]:
    """How many arguments after a name of `prefix` words are refused for their number."""
    if arity < 0:
        return range(-arity - prefix)
    return [count for count in range(arity + 3) if count != arity - prefix]


def arity_of(redis: WireClient, name: str) -> int:
    if name in GROWN:
        return GROWN[name]
    info = redis.send("COMMAND", "INFO", name).frame.items
    assert info, name
    number = (info[0].items or ())[1].number
    assert number is not None, name
    return number


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_wrong_arity_of_a_command(
    name: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for spelling in (name, name.lower()):
        for count in wrong_counts(arity_of(redis_wire, name), 1):
            args = (spelling.encode(), *[b"a"] * count)
            redis, strata = replies(redis_wire, strata_wire, *args)
            assert redis.frame.is_error, args
            assert strata.raw == redis.raw, args


@pytest.mark.parametrize(
    ("container", "sub"), [(name, sub) for name, subs in CONTAINERS.items() for sub in subs]
)
def test_wrong_arity_of_a_subcommand(
    container: str, sub: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    arity = arity_of(redis_wire, f"{container}|{sub}")
    for count in wrong_counts(arity, 2):
        args = (container.encode(), sub.encode(), *[b"a"] * count)
        redis, strata = replies(redis_wire, strata_wire, *args)
        assert redis.frame.is_error, args
        assert strata.raw == redis.raw, args


@pytest.mark.parametrize("container", sorted({*CONTAINERS, "DEBUG"}))
@pytest.mark.parametrize("sub", ["nosuch", "", "NO such", "x" * 200, "a\r\nb"])
def test_unknown_subcommand(
    container: str, sub: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for tail in ([], [b"a"], [b"a"] * 5):
        redis, strata = replies(redis_wire, strata_wire, container.encode(), sub.encode(), *tail)
        assert strata.raw == redis.raw


UNKNOWN = [
    [b"NOSUCH"],
    [b"nosuch", b"a"],
    [b"NoSuch", b"a", b"b c", b""],
    [b"x" * 200, b"y" * 200, b"z"],
    [b"nosuch", *[b"arg"] * 50],
    [b"no\r\nsuch", b"a\r\nb\x00\xff"],
    [b"nosuch'\"", b"'quoted'"],
    [b""],
    [b"", b""],
    [b"GET "],
    [b"nosuch\x00", b"k"],  # of a known name, Redis finds one in a few hundred starts
    [b"\xff\xfe", b"k"],
    [b"LPUSHH", b"k", b"v"],
]


@pytest.mark.parametrize("args", UNKNOWN, ids=lambda args: repr(args)[:40])
def test_unknown_command(
    args: list[bytes], redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis, strata = replies(redis_wire, strata_wire, *args)
    assert strata.raw == redis.raw


def test_a_pipeline_of_wrong_and_right_calls_keeps_its_order(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = [
        ("SET", "k", "v"),
        ("GET",),
        ("nosuch",),
        ("GET", "k"),
        ("INCR", "k"),
        ("STRLEN", "k"),
    ] * 50
    data = b"".join(encode(*call) for call in calls)
    redis, strata = (wire.send_raw(data, len(calls)) for wire in (redis_wire, strata_wire))
    assert [reply.raw for reply in strata] == [reply.raw for reply in redis]
