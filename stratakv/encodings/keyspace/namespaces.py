"""The names of namespaces: which database has which, and which were dropped."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from stratakv.encodings.layout import rows
from stratakv.storage.store import Store


class Rows(Protocol):
    """Who can be asked for a row: the store, or a snapshot of it."""

    def get(self, row: bytes) -> bytes | None:
        """The value of a row, or None."""
        ...


class Contents(NamedTuple):
    """A namespace that was filled, and what there is in it."""

    ns: bytes
    live: int
    expiring: int


def names_in(reader: Rows, count: int) -> list[bytes]:
    """The namespace of each database; at first a database's own number."""
    raw = reader.get(rows.DATABASES_ROW)
    names = raw.split(b",") if raw else []
    named = [name + b":" for name in names]
    return named + [rows.first_namespace(index) for index in range(len(names), count)]


class Namespaces:
    """Reads and writes the rows that name them; what it writes joins the current commit.

    No name is given twice: the number of the last is stored with the commit that uses it.
    One that is being loaded stands among the dropped in the store, so that a crash leaves nothing
    of it, but not in memory.
    """

    __slots__ = ("_made", "_store", "dropped", "loading")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made = int.from_bytes(store.get(rows.NAMESPACES_ROW) or b"", "big")
        self.dropped: dict[bytes, list[bytes] | None] = {}
        """Dropped namespaces, oldest first, with the names of their rows if those are known."""
        self.loading: set[bytes] = set()
        """Namespaces that are being filled, and are no database's yet."""
        self.load_dropped()

    def load_dropped(self) -> None:
        """Read which were dropped and are not gone yet."""
        span = rows.DROPPED, rows.end_of(rows.DROPPED)
        found = (row[2:] for row in self._store.scan_keys(*span))
        self.dropped = {ns: None for ns in found if ns not in self.loading}

    def load_names(self, count: int) -> list[bytes]:
        """The namespace of each database; at first a database's own number."""
        return names_in(self._store, count)

    def save_names(self, namespaces: Iterable[bytes]) -> None:
        """These are the databases' from now on, in their order."""
        self._store.pending[rows.DATABASES_ROW] = b",".join(ns[:-1] for ns in namespaces)

    def make(self, index: int) -> bytes:
        """A name that no database has ever had."""
        self._made += 1
        self._store.pending[rows.NAMESPACES_ROW] = rows.U64.pack(self._made)
        return rows.namespace(index, self._made)

    def drop(self, ns: bytes, known_rows: list[bytes] | None) -> None:
        """Queue a namespace for the reclaimer."""
        self.dropped[ns] = known_rows
        self._store.pending[rows.DROPPED + ns] = b""

    def revive(self, ns: bytes) -> None:
        """A namespace is not for the reclaimer after all. Requires: that looks at none now."""
        self.forget_dropped(ns)

    def forget_dropped(self, ns: bytes) -> None:
        """The rows of a dropped namespace are gone."""
        self._store.pending[rows.DROPPED + ns] = None
        self.dropped.pop(ns, None)

    def begin_loading(self, index: int) -> tuple[bytes, dict[bytes, bytes | None]]:
        """A new namespace to be filled, and the rows that are to be written before its own."""
        ns = self.make(index)
        self.loading.add(ns)
        made = self._store.pending[rows.NAMESPACES_ROW]
        return ns, {rows.DROPPED + ns: b"", rows.NAMESPACES_ROW: made}

    def end_loading(self, ns: bytes) -> None:
        """A namespace that was filled is a database's from now on."""
        self.loading.discard(ns)
        self._store.pending[rows.DROPPED + ns] = None

    def give_up_loading(self, ns: bytes) -> None:
        """A namespace that was being filled is for the reclaimer."""
        self.loading.discard(ns)
        self.drop(ns, None)
