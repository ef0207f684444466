"""The invariants that are looked at after each turn: a broken one is found, and ends the server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable

import pytest

from stratakv.encodings.keyspace.locks import EVERYTHING
from stratakv.options import Options
from stratakv.proxy.server import Server
from tests.harness.servers import StrataServer
from tests.proxy.test_dispatch import PING, Client


class Ended(Exception):
    """The server would have ended."""


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)
    options = Options(engine="memory", http=False, debug_invariants=True)
    server = Server(options, asyncio.get_running_loop())
    yield server
    server.store.close()


def look(server: Server) -> None:
    for check in server.turns.checks:
        check()


def wait_for_nothing(server: Server) -> None:
    session = Client(server).connection.session
    assert session is not None
    session.waiting = True


def wait_twice(server: Server) -> None:
    session = Client(server).connection.session
    assert session is not None
    server.dispatcher.pipelines.await_answer(session)
    server.dispatcher.guards.hold(session)


def leave_writes(server: Server) -> None:
    server.realms.first.txns.at(3).assign(b"key", b"value")


def leave_unit(server: Server) -> None:
    server.realms.first.txns.at(0).in_unit = True


def lock_for_nobody(server: Server) -> None:
    server.dispatcher.lock_waits.locks.acquire(EVERYTHING, lambda lock: None)


def touch_outside(server: Server) -> None:
    session = Client(server).connection.session
    assert session is not None
    server.turns.touch(session)
    server.turns.open = False


BREAKS = {
    "pipelines 4: client 1 is known to 0": wait_for_nothing,
    "pipelines 4: client 1 is known to 2": wait_twice,
    "T1: the Txn of database 3": leave_writes,
    "T1: a Txn is still in a unit": leave_unit,
    "long commands 5:": lock_for_nobody,
    "turns 1:": touch_outside,
}


@pytest.mark.parametrize(("text", "break_it"), BREAKS.items(), ids=BREAKS)
async def test_a_broken_invariant_is_named(
    server: Server,
    text: str,
    break_it: Callable[[Server], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    look(server)
    break_it(server)
    with pytest.raises(Ended):
        look(server)
    assert text in caplog.text


async def test_they_hold_while_clients_are_served(server: Server) -> None:
    clients = [Client(server) for _ in range(3)]
    for client in clients:
        client.send(PING * 5000)
    for _ in range(50):
        await asyncio.sleep(0)
        look(server)


async def test_nobody_looks_unless_asked_to() -> None:
    server = Server(Options(engine="memory", http=False), asyncio.get_running_loop())
    assert server.turns.checks == []
    server.store.close()


def test_the_servers_of_the_tests_look(strata_server: StrataServer) -> None:
    with strata_server.client() as client:
        shown = client.send("CONFIG", "GET", "debug-invariants").raw
    assert shown in (b"*0\r\n", b"%0\r\n"), "hidden"
    environment = f"/proc/{strata_server.pid}/environ"
    with open(environment, "rb") as file:
        assert b"STRATAKV_DEBUG_INVARIANTS=yes" in file.read()
