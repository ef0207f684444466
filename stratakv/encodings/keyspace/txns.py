"""The Txns that sessions share, one for each database that somebody uses."""

from collections.abc import Iterator

from stratakv.clock import Clock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.measured_txn import MeasuredTxn
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows


class Txns:
    """The Txns of a tenant's databases, of those of none, or of all that a master writes to.

    `clock` is for what comes from a master, who says what is expired.
    """

    def __init__(self, keyspace: Keyspace, tenant: int = 0, clock: Clock | None = None) -> None:
        self._keyspace = keyspace
        self._base = tenant << rows.TENANT_BITS
        self._clock = clock
        self._txns: dict[int, Txn] = {}

    def at(self, index: int) -> Txn:
        """The Txn of a database, by its number or its index. Requires: there is such a one."""
        index |= self._base
        txn = self._txns.get(index)
        if txn is None:
            make = MeasuredTxn if self._keyspace.measures else Txn
            txn = self._txns[index] = make(self._keyspace, self._keyspace.open_database(index))
            if self._clock is not None:
                txn.follow(self._clock)
        return txn

    def __iter__(self) -> Iterator[Txn]:
        """Those that were asked for."""
        return iter(self._txns.values())

    def forget_gone(self) -> None:
        """Forget the Txns of databases that are no longer in use."""
        opened = self._keyspace.opened
        for index, txn in list(self._txns.items()):
            if opened.get(index) is not txn.db:
                del self._txns[index]
