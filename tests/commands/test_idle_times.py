"""OBJECT IDLETIME and FREQ, TOUCH, RESTORE's IDLETIME, CLIENT NO-TOUCH, and what memory does."""

from collections.abc import Iterator

import pytest

from tests.harness.servers import StrataServer
from tests.harness.wire import Arg, WireClient

HOUR = 3600

USES: list[tuple[Arg, ...]] = [
    ("GET", "k"),
    ("TOUCH", "k"),
    ("STRLEN", "k"),
    ("SET", "k", "new"),
    ("APPEND", "k", "more"),
    ("EXPIRE", "k", 100),
    ("DUMP", "k"),
    ("MGET", "a", "k"),
    ("EVAL", "return redis.call('get', KEYS[1])", 1, "k"),
]
LOOKS: list[tuple[Arg, ...]] = [
    ("OBJECT", "ENCODING", "k"),
    ("OBJECT", "REFCOUNT", "k"),
    ("OBJECT", "IDLETIME", "k"),
    ("OBJECT", "FREQ", "k"),
    ("SCAN", 0),
    ("KEYS", "*"),
]
READS = [("GET", "k"), ("STRLEN", "k"), ("DUMP", "k"), ("MGET", "a", "k"), ("GET", "K")]


def make_old(client: WireClient, key: str = "k") -> None:
    """A key that was last used an hour ago."""
    client.send("SET", key, "value")
    payload = client.send("DUMP", key).frame.data
    assert payload is not None
    restored = client.send("RESTORE", key, 0, payload, "REPLACE", "IDLETIME", HOUR)
    assert restored.raw == b"+OK\r\n"


def is_old(client: WireClient, key: str = "k") -> bool:
    seconds = client.send("OBJECT", "IDLETIME", key).frame.number
    assert seconds is not None
    assert seconds < HOUR // 2 or HOUR <= seconds < 2 * HOUR
    return seconds >= HOUR


@pytest.mark.parametrize("call", [*USES, *LOOKS], ids=lambda call: " ".join(map(str, call[:2])))
def test_what_is_a_use_is_one_in_redis(
    redis_wire: WireClient, strata_wire: WireClient, call: tuple[Arg, ...]
) -> None:
    for client in (redis_wire, strata_wire):
        make_old(client)
        assert is_old(client)
        client.send(*call)
        assert is_old(client) == (call in LOOKS), client


def test_pipelines_and_transactions_use_their_keys(strata_wire: WireClient) -> None:
    make_old(strata_wire)
    strata_wire.pipeline([("GET", "k")] * 5)
    assert not is_old(strata_wire)
    make_old(strata_wire)
    strata_wire.pipeline([("SET", "k", "v")] * 5)
    assert not is_old(strata_wire)
    make_old(strata_wire)
    strata_wire.pipeline([("MULTI",), ("GET", "k"), ("EXEC",)])
    assert not is_old(strata_wire)


def test_a_key_with_an_expire_time_is_restored_idle(strata_wire: WireClient) -> None:
    strata_wire.send("SET", "k", "value")
    payload = strata_wire.send("DUMP", "k").frame.data
    assert payload is not None
    strata_wire.send("RESTORE", "k", 100_000, payload, "REPLACE", "IDLETIME", HOUR)
    assert is_old(strata_wire)
    strata_wire.send("RESTORE", "k", 0, payload, "REPLACE", "IDLETIME", (1 << 63) - 1)
    assert (strata_wire.send("OBJECT", "IDLETIME", "k").frame.number or 0) > HOUR


@pytest.fixture
def other(strata_server: StrataServer, protocol: int) -> Iterator[WireClient]:
    """A client that touches nothing."""
    with strata_server.client(protocol) as client:
        assert client.send("CLIENT", "NO-TOUCH", "ON").raw == b"+OK\r\n"
        yield client


@pytest.mark.parametrize("call", READS, ids=lambda call: " ".join(map(str, call)))
def test_reads_of_a_client_that_touches_nothing(
    strata_wire: WireClient, other: WireClient, call: tuple[Arg, ...]
) -> None:
    make_old(strata_wire)
    other.send(*call)
    other.pipeline([call] * 3)
    other.pipeline([("MULTI",), call, ("EXEC",)])
    other.send("EVAL", "return redis.call('get', KEYS[1])", 1, "k")
    assert is_old(strata_wire)


def test_writes_and_touch_of_a_client_that_touches_nothing(
    strata_wire: WireClient, other: WireClient
) -> None:
    uses: list[list[tuple[Arg, ...]]] = [
        [("TOUCH", "k")],
        [("SET", "k", "v")],
        [("MULTI",), ("TOUCH", "k"), ("EXEC",)],
        [("MULTI",), ("APPEND", "k", "v"), ("EXEC",)],
        [("CLIENT", "NO-TOUCH", "OFF"), ("GET", "k")],
    ]
    for calls in uses:
        make_old(strata_wire)
        other.pipeline(calls)
        assert not is_old(strata_wire), calls


def test_reads_of_another_client_stay_uses(strata_wire: WireClient, other: WireClient) -> None:
    make_old(strata_wire)
    other.send("GET", "k")
    strata_wire.send("GET", "k")
    other.send("GET", "k")
    assert not is_old(strata_wire)


def test_a_wait_that_is_over_leaves_the_uses_of_others(
    strata_wire: WireClient, other: WireClient
) -> None:
    strata_wire.send("DEL", "q")
    other.write(b"*3\r\n$5\r\nBLPOP\r\n$1\r\nq\r\n$1\r\n0\r\n")
    strata_wire.send("RPUSH", "q", "a", "b")
    assert b"a" in other.read().raw
    assert not is_old(strata_wire, "q")


def test_reset_ends_no_touch(strata_wire: WireClient, other: WireClient) -> None:
    make_old(strata_wire)
    other.send("RESET")
    other.send("GET", "k")
    assert not is_old(strata_wire)


PEEKS: list[tuple[Arg, ...]] = [
    ("TTL", "k"),
    ("PTTL", "k"),
    ("EXPIRETIME", "k"),
    ("PEXPIRETIME", "k"),
    ("TYPE", "k"),
    ("EXISTS", "k", "k"),
]


@pytest.mark.parametrize("call", PEEKS, ids=lambda call: str(call[0]))
def test_who_asks_about_a_key_does_not_use_it(
    redis_wire: WireClient, strata_wire: WireClient, call: tuple[Arg, ...]
) -> None:
    for client in (redis_wire, strata_wire):
        make_old(client)
        client.send(*call)
        client.pipeline([call] * 3)
        assert is_old(client), client


@pytest.fixture
def counting(redis_wire: WireClient, strata_wire: WireClient) -> Iterator[list[WireClient]]:
    """A Redis and a StrataKV that count how often keys are used; a use always counts."""
    both = [redis_wire, strata_wire]
    for client in both:
        client.send("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu", "lfu-log-factor", 0)
    yield both
    for client in both:
        client.send("CONFIG", "SET", "maxmemory-policy", "noeviction", "lfu-log-factor", 10)


FREQUENCIES: list[list[tuple[Arg, ...]]] = [
    [("SET", "k", "v")],
    [("SET", "k", "v"), ("GET", "k"), ("GET", "k")],
    [("SET", "k", "v"), ("TYPE", "k"), ("TTL", "k"), ("EXISTS", "k"), ("OBJECT", "ENCODING", "k")],
    [("SET", "k", "v"), ("STRLEN", "k"), ("DEL", "k"), ("SET", "k", "w"), ("GET", "k")],
    [("SET", "k", "v"), ("MULTI",), ("GET", "k"), ("GET", "k"), ("EXEC",)],
    [("HSET", "k", "f", "v"), ("HGET", "k", "f"), ("HGETALL", "k"), ("HLEN", "none")],
    [("DEL", "k")],
]


@pytest.mark.parametrize("calls", FREQUENCIES, ids=str)
def test_uses_are_counted_as_in_redis(
    counting: list[WireClient], calls: list[tuple[Arg, ...]]
) -> None:
    shown = []
    for client in counting:
        client.send("FLUSHALL")
        for call in calls:
            client.send(*call)
        shown.append([client.send("OBJECT", word, "k").raw for word in ("FREQ", "IDLETIME")])
    assert shown[0] == shown[1]


def test_a_pipeline_of_one_command_is_counted_too(counting: list[WireClient]) -> None:
    for client in counting:
        client.send("SET", "k", "v")
        client.pipeline([("GET", "k")] * 40)
        assert client.send("OBJECT", "FREQ", "k").raw == b":45\r\n"


def test_a_frequency_is_restored(counting: list[WireClient]) -> None:
    for client in counting:
        client.send("SET", "k", "v")
        payload = client.send("DUMP", "k").frame.data
        assert payload is not None
        client.send("RESTORE", "k", 0, payload, "REPLACE", "FREQ", 100)
        assert client.send("OBJECT", "FREQ", "k").raw == b":100\r\n"
        assert client.send("RESTORE", "k", 0, payload, "REPLACE", "FREQ", 256).raw[:1] == b"-"


def test_what_is_not_counted_is_refused(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for client in (redis_wire, strata_wire):
        client.send("SET", "k", "v")
    for call in (("OBJECT", "FREQ", "k"), ("OBJECT", "FREQ", "none")):
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw
