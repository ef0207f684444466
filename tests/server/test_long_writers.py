"""Long writers beside short ones: whatever the mix, it is as if one ran after the other.

The order can be read off the data. Every write appends a token to a key and hears how long the
value is then; if no update was lost, each token stands where its reply said.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.effort import rounds
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Frame, Reply, WireClient, encode

LONG = "for i = 1, 2500 do redis.call('hset', 'filler', i, i) end "
"""More rows than a turn has time for, then whatever follows."""
SPIN = "local n = 0 for i = 1, 6e7 do n = n + 1 end "


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    found = StrataServer(tmp_path_factory.mktemp("writers") / "data").start()
    with found.client() as client:
        client.send("HSET", "big", *(part for n in range(5000) for part in (f"f{n}", n)))
    yield found
    found.stop()


@pytest.fixture
def client(server: StrataServer) -> Iterator[WireClient]:
    with server.client() as found:
        found.send("DEL", "n", "a", "b", "c", "filler")
        yield found


def _begin(server: StrataServer, *call: str | int) -> WireClient:
    """A client whose script is under way."""
    busy = server.client()
    busy.write(encode(*call))
    _until_a_script_runs(server)
    return busy


def _until_a_script_runs(server: StrataServer) -> None:
    """Return once a long script has its lock and its snapshot."""
    with server.client() as observer:
        wait_until(
            lambda: not _nothing_runs(observer.send("FUNCTION", "STATS").frame), "a script at work"
        )


def _nothing_runs(stats: Frame) -> bool:
    """What FUNCTION STATS says; while EVAL runs it says BUSY."""
    return not stats.is_error and stats.pairs()[0][1].is_null


def test_the_end_of_a_reader_frees_nothing(server: StrataServer, client: WireClient) -> None:
    script = SPIN + "return redis.call('incr', 'n')"
    with _begin(server, "EVAL", script, 0) as busy, server.client() as reader:
        assert len(reader.send("HGETALL", "big").frame.items or ()) == 10_000
        client.send("INCRBY", "n", 100)
        busy.read()
    assert client.send("GET", "n").frame.data == b"101"


def test_a_transaction_with_a_keyless_script_locks_everything(
    server: StrataServer, client: WireClient
) -> None:
    script = SPIN + "return redis.call('incr', 'n')"
    with server.client() as busy:
        busy.pipeline([("MULTI",), ("SET", "a", 1), ("EVAL", script, 0)])
        busy.write(encode("EXEC"))
        _until_a_script_runs(server)
        client.send("INCRBY", "n", 100)
        busy.read()
    assert client.send("GET", "n").frame.data == b"101"


def test_a_long_script_locks_the_keys_that_it_has_not_named(
    server: StrataServer, client: WireClient
) -> None:
    script = "local was = redis.call('get', 'n') or 0 " + SPIN + "redis.call('set', 'n', was + 1)"
    with _begin(server, "EVAL", script, 1, "a") as busy:
        client.send("INCRBY", "n", 100)
        busy.read()
    assert client.send("GET", "n").frame.data == b"101"


def test_a_short_script_waits_for_a_locked_key_that_it_has_not_named(
    server: StrataServer, client: WireClient
) -> None:
    script = SPIN + "return redis.call('incr', KEYS[1])"
    with _begin(server, "EVAL", script, 1, "n") as busy:
        client.send("EVAL", "return redis.call('incrby', 'n', 100)", 1, "a")
        busy.read()
    assert client.send("GET", "n").frame.data == b"101"


def test_other_keys_are_written_while_a_script_that_names_its_own_runs(
    server: StrataServer, client: WireClient
) -> None:
    with _begin(server, "EVAL", "while true do end", 1, "n") as busy:
        assert client.send("EVAL", "return redis.call('incr', 'a')", 1, "b").frame.number == 1
        assert client.send("INCR", "a").frame.number == 2
        client.send("SCRIPT", "KILL")
        busy.read()


# the randomised mix

Write = Callable[[WireClient, bytes, bytes, random.Random], int | None]
"""Append a token to a key; returns the length that the reply told, None if nothing was done."""


def _length(reply: Reply) -> int:
    assert reply.frame.number is not None, reply
    return reply.frame.number


def _plain(client: WireClient, key: bytes, token: bytes, chance: random.Random) -> int | None:
    return _length(client.send("APPEND", key, token))


def _script(text: str) -> Write:
    def write(client: WireClient, key: bytes, token: bytes, chance: random.Random) -> int | None:
        named: list[bytes | int] = chance.choice([[1, key], [0], [1, b"elsewhere"]])
        call = f"return redis.call('append', '{key.decode()}', '{token.decode()}')"
        return _length(client.send("EVAL", text + call, *named))

    return write


def _unit(client: WireClient, key: bytes, token: bytes, chance: random.Random) -> int | None:
    commands = [("MULTI",), ("INCR", "elsewhere"), ("APPEND", key, token), ("EXEC",)]
    if chance.random() < 0.3:
        commands.insert(chance.choice([1, 2, 3]), ("HGETALL", "big"))
    results = client.pipeline(commands)[-1].frame.items
    assert results is not None
    return next(item.number for item in results[::-1] if item.number and item.number > 0)


def _unit_with_script(
    client: WireClient, key: bytes, token: bytes, chance: random.Random
) -> int | None:
    call = f"{LONG} return redis.call('append', '{key.decode()}', '{token.decode()}')"
    results = client.pipeline([("MULTI",), ("INCR", "mine"), ("EVAL", call, 0), ("EXEC",)])
    items = results[-1].frame.items
    assert items is not None
    return items[1].number


def _optimistic(client: WireClient, key: bytes, token: bytes, chance: random.Random) -> int | None:
    client.send("WATCH", key)
    value = (client.send("GET", key).frame.data or b"") + token
    if chance.random() < 0.5:
        client.send("HLEN", "big")
    replies = client.pipeline([("MULTI",), ("SET", key, value), ("EXEC",)])
    return None if replies[-1].frame.is_null else len(value)


def _reader(client: WireClient, key: bytes, token: bytes, chance: random.Random) -> int | None:
    client.send("HGETALL", "big")
    return None


WRITES: list[Write] = [
    _plain,
    _plain,
    _script(""),
    _script(LONG),
    _unit,
    _unit_with_script,
    _optimistic,
    _reader,
]


class Writer(threading.Thread):
    """A client that writes for a while, and remembers what it was told."""

    def __init__(self, server: StrataServer, name: str, seed: int, steps: int) -> None:
        super().__init__()
        self._server = server
        self._label = name
        self._chance = random.Random(seed)
        self._steps = steps
        self.told: list[tuple[bytes, bytes, int]] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with self._server.client() as client:
                for step in range(self._steps):
                    key = self._chance.choice([b"a", b"b", b"c"])
                    token = f"<{self._label}{step}>".encode()
                    length = self._chance.choice(WRITES)(client, key, token, self._chance)
                    if length is not None:
                        self.told.append((key, token, length))
        except BaseException as failure:
            self.failure = failure


@pytest.mark.effort
@pytest.mark.parametrize("seed", range(1, 1 + rounds(3)))
def test_every_write_stands_where_its_reply_said(
    server: StrataServer, client: WireClient, seed: int
) -> None:
    writers = [Writer(server, f"{name}.", seed * 100 + at, 25) for at, name in enumerate("pqrstu")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.failure for writer in writers] == [None] * len(writers)
    told = [one for writer in writers for one in writer.told]
    values = {key: client.send("GET", key).frame.data or b"" for key in (b"a", b"b", b"c")}
    for key, token, length in told:
        assert values[key][length - len(token) : length] == token, (seed, key, token)
    assert sum(map(len, values.values())) == sum(len(token) for _, token, _ in told)


# BUSY


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[StrataServer]:
    """A server that calls a script busy after a tenth of a second."""
    found = StrataServer(tmp_path / "data", flags=("--busy-reply-threshold", "100")).start()
    yield found
    found.kill9()


BUSY = (
    b"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"
)
FOR_EVER = "while true do end"


def test_writers_hear_busy_and_readers_are_served(hurried: StrataServer) -> None:
    with hurried.client() as other:
        other.send("SET", "k", "v")
        with _begin(hurried, "EVAL", FOR_EVER, 0) as busy:
            assert other.send("SET", "k", "w").raw == BUSY  # it waited for the threshold
            assert other.send("INCR", "n").raw == BUSY
            assert other.send("FLUSHALL").raw == BUSY
            assert other.send("EVAL", "return 1", 0).raw == BUSY
            assert other.send("GET", "k").frame.data == b"v"
            assert other.send("PING").raw == b"+PONG\r\n"
            assert other.send("SCRIPT", "KILL").raw == b"+OK\r\n"
            assert b"killed" in busy.read().raw
        assert other.send("SET", "k", "w").raw == b"+OK\r\n"


def test_a_transaction_ends_with_busy(hurried: StrataServer) -> None:
    with hurried.client() as other, _begin(hurried, "EVAL", FOR_EVER, 0):
        replies = other.pipeline([("MULTI",), ("SET", "k", "v"), ("EXEC",), ("PING",)])
        assert replies[2].raw == b"-EXECABORT Transaction discarded because of: " + BUSY[1:]
        assert replies[3].raw == b"+PONG\r\n"


def test_a_flush_that_waits_keeps_nobody_waiting_for_ever(hurried: StrataServer) -> None:
    with (
        hurried.client() as flushing,
        hurried.client() as other,
        _begin(hurried, "EVAL", FOR_EVER, 1, "held"),
    ):
        flushing.write(encode("FLUSHALL"))
        assert other.send("SET", "k", "v").raw == b"+OK\r\n"
        assert flushing.read().raw == BUSY
        assert other.send("SET", "k", "v").raw == b"+OK\r\n"
        assert other.send("SET", "held", "v").raw == BUSY


def test_a_long_writer_that_waits_hears_busy_too(hurried: StrataServer) -> None:
    script = "for i = 1, 3000 do redis.call('set', 'k' .. i, i) end return 1"
    with hurried.client() as other, _begin(hurried, "EVAL", FOR_EVER, 1, "held"):
        assert other.send("EVAL", script, 1, "mine").raw == BUSY
        assert other.send("PING").raw == b"+PONG\r\n"


def test_a_long_writer_hears_busy_of_a_script_that_is_so_already(hurried: StrataServer) -> None:
    script = "for i = 1, 3000 do redis.call('set', 'k' .. i, i) end return 1"
    with hurried.client() as other, _begin(hurried, "EVAL", FOR_EVER, 1, "held"):
        assert other.send("SET", "held", "v").raw == BUSY
        assert other.send("EVAL", script, 1, "mine").raw == BUSY
        assert other.send("SET", "mine", "v").raw == b"+OK\r\n"


def test_a_busy_function_has_its_own_words(hurried: StrataServer) -> None:
    code = f"#!lua name=l\nredis.register_function('f', function() {FOR_EVER} end)"
    with hurried.client() as other:
        other.send("FUNCTION", "LOAD", code)
        with _begin(hurried, "FCALL", "f", 0):
            assert b"You can only call FUNCTION KILL" in other.send("SET", "k", "v").raw
            other.send("FUNCTION", "KILL")


def test_blocked_clients_wait_on_while_a_script_is_busy(hurried: StrataServer) -> None:
    with hurried.client() as blocked, hurried.client() as other:
        blocked.write(encode("BLPOP", "list", 0))
        with _begin(hurried, "EVAL", FOR_EVER, 0):
            assert other.send("RPUSH", "list", "x").raw == BUSY
            other.send("SCRIPT", "KILL")
        wait_until(lambda: not other.send("RPUSH", "list", "x").frame.is_error, "its end")
        assert (blocked.read().frame.blobs()) == [b"list", b"x"]
