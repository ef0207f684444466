"""The feed: what is written, as a stream of commands, with its ids and its offset.

A master makes the stream of the effects of its own commands, a replica passes on what its master
has sent, byte for byte. Either way the bytes join the commit of what they tell of, with a row that
says where the stream stands then, and leave when that commit is through.

Invariants
1. The row "!replication" of the store, or of a snapshot of it, has the offset of exactly those
   effects that are there: both are written in one batch.
2. Nothing is sent, or put into the backlog, that is not in the engine.
3. While `is_open` every effect has its place in the stream; else none has, and no id that was
   handed out before is handed out again.
4. A unit that is committed in parts is told with the last. Until then the row has an id that
   nobody knows: after a crash no history has what is there.
"""

import contextlib
import secrets
from collections.abc import Callable, Sequence
from typing import Final

from stratakv.encodings.keyspace.keyspace import Effect, Keyspace
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.positions import Position, decode_position, encode_position
from stratakv.errors import Damaged, StoreUnavailable
from stratakv.proxy.replication.backlog import Backlog
from stratakv.proxy.wire.packing import MANY, joined, pack_all, request
from stratakv.storage.store import Done

_MULTI: Final = (b"MULTI",)
_EXEC: Final = (b"EXEC",)
PING: Final = request(b"PING")
GETACK: Final = request(b"REPLCONF", b"GETACK", b"*")


def fresh_id() -> bytes:
    """The id of a new history."""
    return secrets.token_hex(20).encode()


class Feed:
    """The stream of one server, from its commands to the backlog and to who listens."""

    def __init__(self, keyspace: Keyspace, backlog_bytes: int) -> None:
        self._keyspace = keyspace
        self._limit = backlog_bytes
        stored = keyspace.store.get(rows.REPLICATION_ROW)
        self._history = Position(fresh_id(), 0) if stored is None else decode_position(stored)
        """Its ids, as of the offset at which they were given."""
        self._offset = self._history.offset
        self._database = self._history.database
        self.was_open = stored is not None
        """Whether there was a stream before the start."""
        self.backlog: Backlog | None = None
        self.on_sent: Callable[[bytes], None] = _nobody_listens
        """Called with each chunk of the stream, when it is in the engine and the backlog."""
        self._told: list[Sequence[bytes]] = []
        """What was told and is not packed yet: that is cheaper for many commands at a time."""
        self._waiting: list[bytes] = []
        """What joins the next commit, packed."""
        self._selected = -1
        self._is_inherited = False
        """Whether the history was made by somebody else, who may have sent more of it: an earlier
        process, or a master that was followed until the store refused to have another id."""
        self._is_new = False
        """Whether the row has to be written."""
        self._is_torn = False
        """Whether a unit is committed in part."""
        self.on_spoilt: Callable[[], None] = _nothing
        """Called when a part of a unit is there that nobody was told of, nor will be."""
        keyspace.on_parts = self._note_parts

    @property
    def position(self) -> Position:
        """Where the stream stands, with what waits for its commit."""
        self._pack_told()
        return self._history._replace(offset=self._offset, database=self._database)

    def _stand_at(self, position: Position) -> None:
        self._history = position
        self._offset, self._database = position.offset, position.database

    @property
    def is_open(self) -> bool:
        """Whether there is a stream."""
        return self.backlog is not None

    @property
    def sent(self) -> int:
        """The offset up to which the stream has left."""
        return self._offset if self.backlog is None else self.backlog.end

    # the life of a history

    def open(self) -> None:
        """Begin a stream, or go on with the one that the store tells of."""
        self._is_inherited = self.was_open
        self.was_open = False
        self.backlog = Backlog(self._limit, self.position.offset)
        self._keyspace.on_collect = self._put_row
        self._keyspace.on_commit = self._after
        self._changed()

    def lead(self) -> None:
        """Make the stream out of the effects of what is written here."""
        self._keyspace.on_effects = self.tell
        self._keyspace.on_run = self.tell_run
        self._keyspace.replicates = True
        self._selected = -1

    def follow(self, applied: Callable[[list[Effect]], None]) -> None:
        """Have the stream made by somebody else; `applied` hears when something was."""
        self._keyspace.replicates = False
        self._keyspace.on_effects = applied

    def close(self) -> None:
        """Nobody has been listening for long: no stream, and another history when one begins."""
        self.backlog = None
        self._keyspace.replicates = False
        self._keyspace.on_effects = _forget
        self._stand_at(Position(fresh_id(), self.position.offset))
        self._keyspace.store.pending[rows.REPLICATION_ROW] = None
        self._keyspace.on_collect = _nothing

    def renew(self) -> None:
        """Another history that has nothing in common with the one before.

        As in Redis the first begins at 0. One that is there takes a step, for its backlog to go.
        """
        self.move(Position(fresh_id(), self.position.offset + self.is_open))

    def rename(self) -> None:
        """Go on under another id, as if there had been none before."""
        self.move(Position(fresh_id(), self._offset, database=self._database))

    def shift(self) -> None:
        """Go on with the same history under another id: who has the old one up to here may."""
        old = self.position
        self.move(Position(fresh_id(), old.offset, old.id, old.offset + 1))

    def own(self) -> None:
        """Before anything is added to a history, or promised of it, it has to be this server's.

        What an earlier process has sent may be lost here, by a power failure for example.
        """
        if self._is_inherited:
            self.shift()

    def move(self, position: Position) -> None:
        """Stand elsewhere; the backlog is kept only if the offset stays."""
        self._is_inherited = False
        if position.offset != self.position.offset and self.backlog is not None:
            self.backlog = Backlog(self._limit, position.offset)
            self._waiting.clear()
        self._stand_at(position)
        self._changed()

    def resize(self, limit_bytes: int) -> None:
        """Keep so many bytes in the backlog."""
        self._limit = limit_bytes
        if self.backlog is not None:
            self.backlog.limit_bytes = limit_bytes
            self.backlog.trim()

    # what is written

    def tell(self, effects: list[Effect]) -> None:
        """Effects of this server's own commands; several are one unit."""
        if self._is_inherited:
            self.own()
        told = self._told
        is_unit = len(effects) > 1
        if is_unit:
            self._select(effects[0][0])
            told.append(_MULTI)
        for database, words in effects:
            self._select(database)
            told.append(words)
        if is_unit:
            told.append(_EXEC)
        if effects:
            self._has_told()

    def tell_run(self, database: int, commands: Sequence[Sequence[bytes]]) -> None:
        """Commands of one client that ran at one go, each a unit by itself."""
        if self._is_inherited:
            self.own()
        self._select(database)
        self._told += commands
        self._has_told()

    def pass_on(self, chunks: list[bytes], database: int) -> None:
        """What a master has sent, and its commands are for that database by then."""
        self._selected = database
        self._add(chunks)

    def insert(self, chunk: bytes) -> None:
        """Put a command into the stream that writes nothing."""
        self._add([chunk])

    def select_again(self) -> None:
        """A replica begins here: it does not know for which database the last command was."""
        self._selected = -1

    def _select(self, database: int) -> None:
        if database != self._selected:
            self._selected = database
            self._told.append((b"SELECT", b"%d" % database))

    def _has_told(self) -> None:
        if len(self._told) >= MANY:
            self._pack_told()
        self._changed()

    def _pack_told(self) -> None:
        """What was told takes its place among what waits."""
        if self._told:
            told, self._told = self._told, []
            chunks: list[bytes] = []
            pack_all(told, chunks)
            self._add(chunks)

    def _add(self, chunks: list[bytes]) -> None:
        self._pack_told()
        self._waiting += chunks
        self._offset += sum(map(len, chunks))
        self._database = self._selected
        self._changed()

    def _changed(self) -> None:
        if not self._is_new:
            self._is_new = True
            self._keyspace.dirty = True

    def _note_parts(self, stage: str) -> None:
        """A unit is committed in parts; see the invariants."""
        self._is_torn = stage == "begun"
        if not self.is_open:
            return
        if stage == "spoilt":
            self.renew()
            self.on_spoilt()
        self._changed()

    # its commit

    def _put_row(self) -> None:
        """The row joins what is collected."""
        if self._is_new:
            position = self.position  # with what was told: that is no news any more
            self._is_new = False
            known = Position(fresh_id(), position.offset) if self._is_torn else position
            self._keyspace.store.pending[rows.REPLICATION_ROW] = encode_position(known)

    def _after(self, done: Done) -> Done:
        """What waits leaves when the commit is through."""
        if not self._waiting:
            return done
        waiting, self._waiting = self._waiting, []
        backlog = self.backlog

        def ended(error: StoreUnavailable | None) -> None:
            if error is None and backlog is not None and backlog is self.backlog:
                self._send(backlog, waiting)
            done(error)

        return ended

    def _send(self, backlog: Backlog, chunks: list[bytes]) -> None:
        for chunk in joined(chunks):
            backlog.append(chunk)
            self.on_sent(chunk)

    def abandon(self) -> None:
        """A commit was refused: what was decided since has not happened."""
        self._told.clear()
        self._waiting.clear()
        self._selected = -1
        self._is_new = self._is_torn = False
        if self.backlog is not None:
            self._offset = self.backlog.end
            with contextlib.suppress(Damaged):
                stored = self._keyspace.store.get(rows.REPLICATION_ROW)
                if stored is not None:
                    self._return_to(decode_position(stored))

    def mend(self) -> None:
        """The store can be written again; what it had refused may be there after all."""
        self.abandon()
        if self.is_open and self._keyspace.store.get(rows.REPLICATION_ROW) is None:
            self._changed()

    def _return_to(self, position: Position) -> None:
        """Stand where the store says. An id that it has not is nobody's: the next to write, or to
        be followed, needs another."""
        assert self.backlog is not None
        if position.id != self._history.id:
            self._is_inherited = True
        self._stand_at(position)
        if position.offset != self.backlog.end:
            self.backlog = Backlog(self._limit, position.offset)


def _nobody_listens(chunk: bytes) -> None:
    """No replica is here."""


def _forget(effects: list[Effect]) -> None:
    """There is no stream."""


def _nothing() -> None:
    """No row belongs to every commit."""
