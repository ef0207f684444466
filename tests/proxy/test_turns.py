"""Turns: one commit for all, replies behind it, and a refusal that reaches every writer."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from stratakv.clock import ManualClock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.strings import strings
from stratakv.errors import StoreUnavailable
from stratakv.proxy.run.turns import Turns
from stratakv.storage.store import Store
from tests.storage.test_store import Gate, Loop

REFUSED = b"-MISCONF "


class FakeConnection:
    """Keeps what would go to the socket."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.sent: list[bytes] = []

    def flush(self) -> None:
        self.send(self._session.out)
        self._session.out, self._session.marks = [], []

    def send(self, out: list[bytes]) -> None:
        self.sent += out

    def pause_for_commit(self) -> None: ...

    def resume_after_commit(self) -> None: ...


class Table:
    """A keyspace, its turns and clients; the store is written by a thread that the test holds."""

    def __init__(self, *, threaded: bool) -> None:
        self.gate, self.posted = Gate(), Loop()
        post = self.posted.posted.put if threaded else None
        self.store = Store(self.gate, post=post, sync=threaded)
        self.keyspace = Keyspace(self.store, ManualClock())
        self.keyspace.commit(lambda error: None)
        if threaded:
            self.posted.run()
        self.failures: list[StoreUnavailable] = []
        loop = asyncio.get_running_loop()
        self.turns = Turns(loop, self.keyspace, self.failures.append)
        self.clients: list[Any] = []

    def client(self) -> Any:
        session: Any = SimpleNamespace(
            id=len(self.clients), out=[], marks=[], needs_commit=False, held=0
        )
        session.connection = FakeConnection(session)
        self.clients.append(session)
        return session

    def write(self, session: Any, key: bytes) -> None:
        """What the dispatcher does for a SET."""
        self.turns.touch(session)
        txn = Txn(self.keyspace, self.keyspace.databases[0])
        strings.assign(txn, key, b"v")
        txn.apply()
        session.needs_commit = True
        session.marks.append(len(session.out))
        session.out.append(b"+OK\r\n")

    def answer(self, session: Any) -> None:
        """What the dispatcher does for a PING."""
        self.turns.touch(session)
        session.out.append(b"+PONG\r\n")

    def live(self) -> int:
        return self.keyspace.databases[0].live


@pytest.fixture
async def table() -> Table:
    return Table(threaded=True)


async def turn() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_all_writes_of_a_turn_are_one_batch() -> None:
    table = Table(threaded=False)
    clients = [table.client() for _ in range(3)]
    before = len(table.gate.written)
    for client in clients:
        table.write(client, b"key%d" % client.id)
    assert [client.connection.sent for client in clients] == [[], [], []]
    await turn()
    assert len(table.gate.written) == before + 1
    assert [client.connection.sent for client in clients] == [[b"+OK\r\n"]] * 3


async def test_replies_wait_for_the_commit_and_others_do_not(table: Table) -> None:
    writer, other = table.client(), table.client()
    table.gate.opened.clear()
    table.write(writer, b"a")
    table.answer(other)
    await turn()
    assert (writer.connection.sent, other.connection.sent) == ([], [b"+PONG\r\n"])
    table.gate.opened.set()
    table.posted.run()
    assert writer.connection.sent == [b"+OK\r\n"]


def read(table: Table, session: Any) -> None:
    """What the dispatcher does for a GET."""
    table.turns.touch(session)
    session.needs_commit = True
    session.out.append(b"$-1\r\n")


async def test_a_reply_held_behind_the_batch_of_a_long_command_leaves_with_it(table: Table) -> None:
    reader = table.client()
    table.gate.opened.clear()
    table.store.submit({b"row": b"of a long command"}, lambda error: None)
    read(table, reader)
    await turn()
    assert reader.connection.sent == []
    table.gate.opened.set()
    table.posted.run(2)
    assert reader.connection.sent == [b"$-1\r\n"]
    table.turns.check_invariants()


async def test_a_flush_behind_the_batch_of_a_long_command_ends_with_it(table: Table) -> None:
    ended: list[bool] = []
    table.gate.opened.clear()
    table.store.submit({b"row": b"of a long command"}, lambda error: None)
    table.turns.flush_now(lambda: ended.append(True))
    assert not ended
    table.gate.opened.set()
    table.posted.run(2)
    assert ended == [True]


async def test_while_a_batch_is_under_way_the_next_collects_several_turns(table: Table) -> None:
    writer = table.client()
    table.gate.opened.clear()
    before = len(table.gate.written)
    for number in range(4):
        table.write(writer, b"%d" % number)
        await turn()
    table.gate.opened.set()
    table.posted.run(2)
    assert len(table.gate.written) == before + 2
    assert writer.connection.sent == [b"+OK\r\n"] * 4


async def test_a_refusal_reaches_all_whose_writes_are_forgotten(table: Table) -> None:
    """In the batch, waiting for the next, and in the turn that is still open."""
    first, second, third = (table.client() for _ in range(3))
    table.gate.opened.clear()
    table.gate.failures = 1
    table.write(first, b"in the batch")
    await turn()
    table.write(second, b"behind it")
    await turn()
    table.write(third, b"in the open turn")
    table.answer(third)
    table.gate.opened.set()
    table.posted.run()
    await turn()
    table.posted.run(2)  # the empty commits behind which the other replies wait
    for client in (first, second, third):
        assert client.connection.sent[0].startswith(REFUSED), client.id
    assert third.connection.sent[1] == b"+PONG\r\n"
    assert len(table.failures) == 1
    assert table.live() == 0


async def test_a_refused_commit_on_behalf_of_a_long_command_reaches_the_open_turn() -> None:
    table = Table(threaded=False)
    writer = table.client()
    table.write(writer, b"a")
    table.gate.failures = 1
    started: list[bool] = []
    table.turns.flush_now(lambda: started.append(True))
    await turn()
    assert started == [True]
    assert writer.connection.sent[0].startswith(REFUSED)
    assert table.live() == 0


async def test_writes_after_a_refusal_are_as_good_as_ever(table: Table) -> None:
    writer = table.client()
    table.gate.failures = 1
    for key in (b"lost", b"kept"):
        table.write(writer, key)
        await turn()
        table.posted.run()
    assert writer.connection.sent[0].startswith(REFUSED)
    assert writer.connection.sent[1:] == [b"+OK\r\n"]
    assert table.live() == 1
