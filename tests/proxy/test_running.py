"""How a command runs outside of the hot loop: what it leaves, and what it is counted as."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.options import Options
from stratakv.proxy.clients.session import MUTED, Session
from stratakv.proxy.server import Server
from stratakv.proxy.table.registry import TABLE
from tests.proxy.test_dispatch import Client


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server(Options(engine="memory", http=False), asyncio.get_running_loop())
    yield server
    server.store.close()


@pytest.fixture
def session(server: Server) -> Session:
    found = Client(server).connection.session
    assert found is not None
    return found


def run(session: Session, *calls: str) -> list[bytes]:
    """The replies to calls, made in this turn: one by one, as a pipeline may have to give way."""
    session.out.clear()
    for call in calls:
        session.server.dispatcher.run(session, [call.encode().split()])
    return session.out


def break_command(monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    """Let a command write, and end where it did not expect to."""

    def handler(txn: Txn, key: bytes, *rest: bytes) -> None:
        txn.assign(key, b"half")
        raise RuntimeError("a bug")

    monkeypatch.setattr(TABLE[name], "handler", handler)


async def test_a_writer_that_breaks_takes_its_unit_with_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_command(monkeypatch, b"append")
    replies = run(session, "MULTI", "SET a 1", "APPEND b 2", "SET c 3", "EXEC")
    assert replies[-1].startswith(b"-ERR internal error")
    assert run(session, "EXISTS a b c", "DISCARD") == [b":0\r\n", b"-ERR DISCARD without MULTI\r\n"]


async def test_an_error_of_redis_does_not(session: Session) -> None:
    replies = run(session, "MULTI", "SET a 1", "LPUSH a 2", "SET c 3", "EXEC")
    assert replies[-1].count(b"+OK") == 2
    assert run(session, "EXISTS a c") == [b":2\r\n"]


@pytest.mark.parametrize("call", ["EXEC", "EVAL return{} 0"])
async def test_a_unit_that_only_reads_waits_for_the_commit_as_a_reader_does(
    session: Session, call: str
) -> None:
    if call == "EXEC":
        run(session, "MULTI", "GET a")
    session.needs_commit = False
    run(session, call)
    assert session.needs_commit


async def test_a_command_on_the_connection_waits_for_no_commit(session: Session) -> None:
    run(session, "CLIENT GETNAME", "PING x")
    assert not session.needs_commit


async def test_a_refused_write_leaves_no_mark(session: Session) -> None:
    run(session, "SWAPDB 0 x", "FLUSHDB x")
    assert session.marks == []


async def test_each_write_leaves_one_mark_where_its_reply_is(session: Session) -> None:
    run(session, "SET a 1", "FLUSHDB", "MULTI", "SET a 1", "INCR a", "EXEC")
    assert session.marks == [0, 1, 5]


async def test_a_muted_write_leaves_no_mark(session: Session) -> None:
    session.guards |= MUTED
    run(session, "SET a 1", "FLUSHDB", "EVAL return{} 0")
    assert session.marks == []
    assert session.out == []


REFUSED = b"-EXECABORT Transaction discarded because of: MISCONF StrataKV cannot write"


@pytest.mark.parametrize("call", ["SET a 1", "DEL a", "FLUSHDB"])
async def test_exec_of_writes_is_refused_while_the_store_is(session: Session, call: str) -> None:
    guards = session.server.dispatcher.guards
    run(session, "MULTI", "GET a", call)
    guards.refuse_writes("no space left")
    assert run(session, "EXEC")[0].startswith(REFUSED)
    guards.refuse_writes(None)
    assert run(session, "EXEC") == [b"-ERR EXEC without MULTI\r\n"]


async def test_exec_of_reads_goes_on_while_the_store_refuses_writes(session: Session) -> None:
    session.server.dispatcher.guards.refuse_writes("no space left")
    assert run(session, "MULTI", "GET a", "EXEC")[-1] == b"*1\r\n$-1\r\n"


async def test_exec_that_only_deletes_goes_on_while_the_disk_is_full(session: Session) -> None:
    guards = session.server.dispatcher.guards
    run(session, "MULTI", "SET a 1", "DEL a")
    guards.refuse_writes("no space left", deletes_only=True)
    assert run(session, "EXEC")[0].startswith(REFUSED)
    assert run(session, "MULTI", "DEL a", "EXEC")[-1] == b"*1\r\n:0\r\n"


async def test_a_write_that_is_refused_while_queueing_aborts_exec(session: Session) -> None:
    session.server.dispatcher.guards.refuse_writes("no space left")
    replies = run(session, "MULTI", "SET a 1", "EXEC")
    assert replies[1].startswith(b"-MISCONF ")
    assert replies[2] == b"-EXECABORT Transaction discarded because of previous errors.\r\n"


async def test_exec_looks_at_watched_keys_whatever_is_left_of_a_budget(session: Session) -> None:
    run(session, "SELECT 1", "SET watched 1", "WATCH watched", "SELECT 0", "MULTI", "PING")
    session.server.keyspace.commit(lambda error: None)
    session.server.keyspace.databases[1].forget()  # it has to be read from the store
    session.server.realms.first.txns.at(1).budget = 0  # somebody else's command took long
    assert run(session, "EXEC") == [b"*1\r\n+PONG\r\n"]
