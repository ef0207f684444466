"""Tenants: namespaces of users, each with databases of its own that nobody else sees.

A tenant is a row with its name, its quota and the namespaces of its databases. Its databases are
like any other, and have indexes of their own among all (see rows.SPAN); one exists in memory from
the moment it is first used, or at the start if there is anything in it.
"""

from collections.abc import Iterator
from typing import Final

from stratakv.encodings.layout import rows
from stratakv.encodings.layout.tenant_records import (
    Quota,
    TenantRecord,
    decode_tenant,
    encode_tenant,
)
from stratakv.storage.contract import Reader
from stratakv.storage.store import Store

MOST_TENANTS: Final = 1000
"""Every commit asks each open database whether it has changed."""


def tenants_in(reader: Reader) -> list[TenantRecord]:
    """The tenants of a store, or of a snapshot of it."""
    return [
        decode_tenant(row, raw) for row, raw in reader.scan(rows.TENANT, rows.end_of(rows.TENANT))
    ]


class Tenants:
    """Reads and writes the rows of tenants; what it writes joins the current commit."""

    __slots__ = ("_by_id", "_by_name", "_last", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_name: dict[bytes, TenantRecord] = {}
        self._by_id: dict[int, TenantRecord] = {}
        self._last = 0
        self.load()

    def load(self) -> None:
        """Know what the store tells."""
        self._by_name.clear()
        self._by_id.clear()
        self._last = int.from_bytes(self._store.get(rows.TENANTS_ROW) or b"", "big")
        for tenant in tenants_in(self._store):
            self._know(tenant)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def have_been(self) -> bool:
        """Whether there was ever one."""
        return self._last > 0

    def __iter__(self) -> Iterator[TenantRecord]:
        return iter([self._by_name[name] for name in sorted(self._by_name)])

    def find(self, name: bytes) -> TenantRecord | None:
        """The tenant of a name."""
        return self._by_name.get(name)

    def of_database(self, index: int) -> TenantRecord | None:
        """The tenant that a database belongs to, by the index of that."""
        return self._by_id.get(index >> rows.TENANT_BITS)

    def create(self, name: bytes, quota: Quota, id_: int = 0) -> TenantRecord:
        """A new tenant, of that id if a master has given one. Requires: there is none so called."""
        self._last = id_ if id_ > self._last else self._last + (not id_)
        self._store.pending[rows.TENANTS_ROW] = rows.U64.pack(self._last)
        tenant = TenantRecord(name, id_ or self._last, quota, {})
        self._know(tenant)
        self.save(tenant)
        return tenant

    def _know(self, tenant: TenantRecord) -> None:
        self._by_name[tenant.name] = self._by_id[tenant.id] = tenant

    def save(self, tenant: TenantRecord) -> None:
        """The tenant is so from now on."""
        self._store.pending[tenant.row] = encode_tenant(tenant)

    def forget(self, tenant: TenantRecord) -> None:
        """There is no such tenant any more."""
        self._store.pending[tenant.row] = None
        del self._by_name[tenant.name], self._by_id[tenant.id]

    def rename(self, tenant: TenantRecord, name: bytes) -> None:
        """Call a tenant otherwise. Requires: nobody is called so."""
        self.forget(tenant)
        tenant.name = name
        self._know(tenant)
        self.save(tenant)

    def inhabited(self, tenant: TenantRecord, databases: int) -> list[int]:
        """The numbers of the databases that have rows, or may have."""
        stop = max(databases, 1 + max(tenant.names, default=-1))
        return [number for number in range(stop) if self._has_rows(tenant.namespace(number))]

    def _has_rows(self, ns: bytes) -> bool:
        if self._store.get(rows.LIVE + ns) is not None:
            return True
        prefix = rows.GARBAGE + ns  # what a crash has left before the first commit
        return next(iter(self._store.scan_keys(prefix, rows.end_of(prefix))), None) is not None
