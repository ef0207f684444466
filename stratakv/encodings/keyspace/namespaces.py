"""The names of namespaces: which database has which, and which were dropped."""

from collections.abc import Iterable

from stratakv.encodings.layout import rows
from stratakv.storage.store import Store


class Namespaces:
    """Reads and writes the rows that name them; what it writes joins the current commit.

    No name is given twice: the number of the last is stored with the commit that uses it.
    """

    __slots__ = ("_made", "_store", "dropped")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made = int.from_bytes(store.get(rows.NAMESPACES_ROW) or b"", "big")
        self.dropped: dict[bytes, list[bytes] | None] = {}
        """Dropped namespaces, oldest first, with the names of their rows if those are known."""
        self.load_dropped()

    def load_dropped(self) -> None:
        """Read which were dropped and are not gone yet."""
        span = rows.DROPPED, rows.end_of(rows.DROPPED)
        self.dropped = {row[2:]: None for row in self._store.scan_keys(*span)}

    def load_names(self, count: int) -> list[bytes]:
        """The namespace of each database; at first a database's own number."""
        raw = self._store.get(rows.DATABASES_ROW)
        names = raw.split(b",") if raw else []
        names += [str(index).encode() for index in range(len(names), count)]
        return [name + b":" for name in names]

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

    def forget_dropped(self, ns: bytes) -> None:
        """The rows of a dropped namespace are gone."""
        self._store.pending[rows.DROPPED + ns] = None
        self.dropped.pop(ns, None)
