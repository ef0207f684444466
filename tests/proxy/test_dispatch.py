"""Dispatch: how pipelines share a turn. The clock is the test's: each look at it takes 0.1 ms."""

from __future__ import annotations

import asyncio
import gc
import itertools
import weakref
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace

import pytest

from stratakv.options import Options
from stratakv.proxy.clients.connection import PORTION_BYTES, Connection
from stratakv.proxy.run import dispatch, pipelines, turns
from stratakv.proxy.server import Server

PING = b"*1\r\n$4\r\nPING\r\n"
LOOK_SECONDS = 0.0001


class FakeTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_paused = False

    def write(self, data: object) -> None:
        assert isinstance(data, bytes)
        self.written += data

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def close(self) -> None: ...


class Client:
    """A connection without a socket."""

    def __init__(self, server: Server) -> None:
        self.transport = FakeTransport()
        self.connection = Connection(server)
        self.connection.connection_made(self.transport)

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    @property
    def replies(self) -> int:
        """How many replies were made: sent, or on their way at the end of the turn."""
        session = self.connection.session
        assert session is not None
        return self.transport.written.count(b"\r\n") + len(session.out)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    looks = itertools.count(1)

    def perf_counter() -> float:
        return next(looks) * LOOK_SECONDS

    clock = SimpleNamespace(monotonic=perf_counter, perf_counter=perf_counter)
    monkeypatch.setattr(dispatch, "perf_counter", perf_counter)
    monkeypatch.setattr(pipelines, "perf_counter", perf_counter)
    monkeypatch.setattr(pipelines, "monotonic", perf_counter)
    monkeypatch.setattr(turns, "time", clock)
    server = Server(Options(engine="memory", http=False), asyncio.get_running_loop())
    yield server
    server.store.close()


async def until(condition: Callable[[], bool]) -> int:
    """Let the loop go round until it is so; returns how often."""
    for rounds in range(10_000):
        if condition():
            return rounds
        await asyncio.sleep(0)
    raise AssertionError("it never came to be so")


async def test_a_long_pipeline_runs_in_slices(server: Server) -> None:
    client = Client(server)
    client.send(PING * 100)
    most = dispatch.CLIENT_SLICE_SECONDS / LOOK_SECONDS + 1
    assert 1 <= client.replies <= most
    assert await until(lambda: client.replies == 100) >= 100 / most - 1
    await asyncio.sleep(0)
    assert client.transport.written == b"+PONG\r\n" * 100


async def test_what_is_read_at_once_is_parsed_in_portions(server: Server) -> None:
    client = Client(server)
    value = b"x" * 1000
    data = b"*2\r\n$4\r\nECHO\r\n$1000\r\n%b\r\n" % value * 500
    client.send(data)
    assert server.stats.bytes_in == PORTION_BYTES
    assert client.transport.is_paused
    await until(lambda: server.stats.bytes_in == len(data))
    await until(lambda: not client.transport.is_paused)
    await until(lambda: client.transport.written.count(value) == 500)


async def test_portions_of_a_client_that_is_cut_are_dropped(server: Server) -> None:
    client = Client(server)
    client.send(PING + b"*1\r\n$4\r\nQUIT\r\n" + PING * 50_000)
    await until(lambda: client.transport.written.count(b"\r\n") == 2)
    for _ in range(50):
        await asyncio.sleep(0)
    assert client.transport.written == b"+PONG\r\n+OK\r\n"


async def test_a_single_request_never_waits_behind_pipelines(server: Server) -> None:
    busy = [Client(server) for _ in range(10)]
    for client in busy:
        client.send(PING * 50)
    assert sum(client.replies for client in busy) < 500
    short = Client(server)
    short.send(PING)
    assert short.replies == 1


async def test_a_few_requests_do_not_wait_in_line(server: Server) -> None:
    first = Client(server)
    first.send(PING * 50)
    assert first.replies < 50
    few, many = Client(server), Client(server)
    few.send(PING * pipelines.FEW_REQUESTS)
    many.send(PING * (pipelines.FEW_REQUESTS + 1))
    assert (few.replies, many.replies) == (pipelines.FEW_REQUESTS, 0)
    await until(lambda: many.replies > 0)
    assert first.replies > 10, "whoever waited before goes on before"


async def test_who_waits_goes_on_though_the_turns_are_used_up_by_others(server: Server) -> None:
    client = Client(server)
    client.send(PING * 100)
    for _ in range(20):
        server.turns.begin_background()
        server.turns.moment = 0.0  # a long command has had its slice
        await asyncio.sleep(0)
    assert client.replies == 100


async def test_pipelines_past_the_turn_s_time_wait_for_the_next(server: Server) -> None:
    clients = [Client(server) for _ in range(10)]
    for client in clients:
        client.send(PING * 50)
    served = [client.replies > 0 for client in clients]
    assert served[0]
    assert not served[-1]
    assert served == sorted(served, reverse=True), "in the order of arrival"


async def test_all_pipelines_go_on_by_turns(server: Server) -> None:
    clients = [Client(server) for _ in range(5)]
    for client in clients:
        client.send(PING * 200)
    while not all(client.replies == 200 for client in clients):
        await asyncio.sleep(0)
        unfinished = [client.replies for client in clients if client.replies < 200]
        if unfinished and min(unfinished) > 30:
            assert max(unfinished) - min(unfinished) <= 40, "nobody is two slices ahead"


async def test_what_arrives_for_a_waiting_pipeline_keeps_its_order(server: Server) -> None:
    client = Client(server)
    client.send(b"".join(b"*2\r\n$4\r\nECHO\r\n$3\r\n%03d\r\n" % number for number in range(60)))
    client.send(
        b"".join(b"*2\r\n$4\r\nECHO\r\n$3\r\n%03d\r\n" % number for number in range(60, 90))
    )
    await until(lambda: client.transport.written.count(b"\r\n") == 180)
    assert client.transport.written.split(b"\r\n")[1::2] == [b"%03d" % n for n in range(90)]


async def test_a_client_that_goes_with_half_a_pipeline_leaves_nothing_behind(
    server: Server,
) -> None:
    gc.disable()  # no cycle may keep it alive either
    try:
        client = Client(server)
        client.send(PING * 100)
        session = weakref.ref(client.connection.session)
        client.connection.connection_lost(None)
        del client
        await until(lambda: session() is None)
    finally:
        gc.enable()
