"""A call of a command as keyspace notifications see it: its keys before it and after it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.types.keys.keys import paced
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.replies import NullArray, Stream


class Call:
    """One run of a command: its keys before and after it, its arguments and its reply."""

    def __init__(
        self,
        txn: Txn,
        entry: Command,
        arguments: tuple[bytes, ...],
        prepare: "Callable[[Call], Any] | None" = None,
    ) -> None:
        self.txn = txn
        self.name = entry.name
        self.is_reader = "readonly" in entry.flags
        self.arguments = arguments
        self.keys = _keys(entry, arguments)
        txn.expect_work(len(self.keys))
        self.before: dict[bytes, Meta | None] = {
            key: txn.find(key) for key in paced(txn, self.keys)
        }
        self._overdue = [
            key for key, meta in self.before.items() if meta is None and txn.is_overdue(key)
        ]
        self.reply: Any = None
        self.notes: Any = prepare(self) if prepare is not None else None
        """What a rule has to know of the time before the command."""
        self._new: set[bytes] = set()
        self._told: set[bytes] = set()

    def end(self, reply: Any, rule: "Rule") -> None:
        """The command has succeeded: tell its events."""
        self.reply = reply
        for key in self._overdue:
            if not self.txn.is_overdue(key):  # else it is the reclaimer that will tell
                self._emit("x", "expired", key)
        self._tell_misses()
        find = self.txn.find
        self._new = {key for key, old in self.before.items() if old is None and find(key)}
        rule(self)
        if self.name not in _MOVING:
            for key in paced(self.txn, self.before):
                self.tell_if_gone(key)

    def tell(self, kind: str, event: str, key: bytes) -> None:
        """An event of a key; if the command has made the key, that comes first."""
        if key in self._new:
            self._new.discard(key)
            self._emit("n", "new", key)
        self._emit(kind, event, key)

    def tell_if_gone(self, key: bytes) -> None:
        """Tell, once, that the command has deleted a key."""
        if self.before[key] is not None and key not in self._told and self.txn.find(key) is None:
            self._told.add(key)
            self._emit("g", "del", key)

    def tell_new(self, key: bytes, txn: Txn | None = None) -> None:
        """The key was made anew, whatever was there before."""
        self._new.discard(key)
        self._emit("n", "new", key, txn)

    def tell_in(self, txn: Txn, kind: str, event: str, key: bytes) -> None:
        """An event in another database."""
        self._emit(kind, event, key, txn)

    @property
    def has_result(self) -> bool:
        """Whether the reply says that something was done."""
        reply = self.reply
        if isinstance(reply, Stream):
            return reply.length > 0
        return bool(reply) and not isinstance(reply, NullArray)

    def words(self, start: int) -> list[bytes]:
        """The arguments from a position on, in upper case."""
        return [word.upper() for word in self.arguments[start:]]

    def _tell_misses(self) -> None:
        keys = self.keys[_reads(self)]
        for key in [*keys, *keys] if self.name in _LOOKED_UP_TWICE else keys:
            if self.before[key] is None:
                self._emit("m", "keymiss", key)

    def _emit(self, kind: str, event: str, key: bytes, txn: Txn | None = None) -> None:
        publish = self.txn.keyspace.on_event
        if publish is not None:
            database = (txn or self.txn).db.index
            self.txn.when_applied(partial(publish, database, kind, event, key))


def _keys(entry: Command, arguments: tuple[bytes, ...]) -> Sequence[bytes]:
    try:
        return entry.find_keys((b"", *arguments))
    except Exception:  # the handler will say what is wrong with the arguments
        return []


Rule = Callable[[Call], None]

_MOVING: Final = frozenset({"rename", "renamenx", "move"})
"""A key that these take away is not deleted."""

_NONE: Final = slice(0, 0)
_ALL: Final = slice(None)
_FIRST: Final = slice(0, 1)
_OTHERS: Final = slice(1, None)
_READS: Final[dict[str, slice]] = {
    **dict.fromkeys(("getset", "getdel", "getex", "copy", "sort", "georadius"), _FIRST),
    **dict.fromkeys(("bitop", "sinterstore", "sunionstore", "sdiffstore"), _OTHERS),
    **dict.fromkeys(("zunionstore", "zinterstore", "zdiffstore", "zrangestore"), _OTHERS),
    "georadiusbymember": _FIRST,
    "geosearchstore": _OTHERS,
    "pfmerge": _ALL,
}
"""Which of its keys a writer looks up as a reader does, so that a missing one is told."""


_READS_OF: Final[dict[str, Callable[[Call], slice]]] = {
    "set": lambda call: _FIRST if b"GET" in call.words(2) else _NONE,
    "bitfield": lambda call: _NONE if {b"SET", b"INCRBY"} & set(call.words(1)) else _FIRST,
}
"""The same where it depends on the options."""


def _reads(call: Call) -> slice:
    if call.is_reader:
        return _ALL
    if call.name in _READS_OF:
        return _READS_OF[call.name](call)
    return _READS.get(call.name, _NONE)


_LOOKED_UP_TWICE: Final = frozenset({"xread"})
DISCREET: Final = frozenset({"object", "memory"})
"""Readers that look at keys without being noticed."""
