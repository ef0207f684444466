"""Realms: all that the clients of one namespace share, and nobody else sees.

A user may be bound to a namespace; its clients are in the realm of that. Clients of users who are
bound to none are in the first realm: with their rights they may be administrators, and see all.

Invariants
1. A session is in the realm of its user, and its Txns are those of the realm, unless it obeys a
   master.
2. `clients` of a realm is the number of its sessions.
3. A realm other than the first and `nowhere` has the tenant that the keyspace knows by its id.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txns import Txns
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.tenant_records import Quota, TenantRecord
from stratakv.proxy.clients.pubsub import PubSub

if TYPE_CHECKING:
    from stratakv.proxy.access.users import User
    from stratakv.proxy.clients.session import Session

_NOWHERE: Final = -1


class Realm:
    """What the clients of a namespace share."""

    def __init__(self, keyspace: Keyspace, tenant: TenantRecord | None, id_: int) -> None:
        self.id = id_
        """That of the tenant; 0 for the first realm, negative for none."""
        self.tenant = tenant
        self.txns = Txns(keyspace, max(0, id_))
        self.pubsub = PubSub()
        self.clients = 0
        self.operations = 0
        """Requests of its clients so far, if it has a tenant."""
        self.refused = 0
        """Writes that went beyond its quota."""
        self.disk_bytes = 0
        """What its rows take in the files."""
        self.written_bytes = 0
        """What its clients have written since the files were put in order, as they sent it. Counted
        where there is a quota: it is not in the files yet, or stands for what was there before."""
        self.settled_at = 0.0
        """When that was begun last."""
        self._second = 0
        self._before = 0
        """The operations when that second began."""

    @property
    def name(self) -> bytes:
        """The name of the namespace; empty if it is none."""
        return b"" if self.tenant is None else self.tenant.name

    @property
    def quota(self) -> Quota:
        """What it may use."""
        return _UNLIMITED if self.tenant is None else self.tenant.quota

    @property
    def is_full(self) -> bool:
        """Whether it may have no further client."""
        most = self.quota.clients
        return bool(most) and self.clients >= most

    @property
    def is_beyond_bytes(self) -> bool:
        """Whether it seems to have used up its bytes."""
        most = self.quota.bytes
        return bool(most) and self.disk_bytes + self.written_bytes >= most

    @property
    def limits_writes(self) -> bool:
        """Whether each write has to be looked at."""
        return any(self.quota[:3])

    def sees(self, session: "Session") -> bool:
        """Whether its clients may know of another."""
        return not self.id or session.realm is self

    def operations_in(self, second: int) -> int:
        """How many operations there were in this second so far."""
        if second != self._second:
            self._second, self._before = second, max(0, self.operations - 1)
        return self.operations - self._before


_UNLIMITED: Final = Quota()


class Realms:
    """The realms of a server, made when they are first asked for."""

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self.first = Realm(keyspace, None, 0)
        for database in keyspace.databases:
            self.first.txns.at(database.index)
        self.nowhere = Realm(keyspace, None, _NOWHERE)
        """Where clients are whose namespace does not exist: they may only leave."""
        self._realms: dict[int, Realm] = {0: self.first}

    def __iter__(self) -> Iterator[Realm]:
        """Those of tenants, by their names, whether they have clients or not."""
        return iter([self._of_tenant(tenant) for tenant in self._keyspace.tenants])

    def all(self) -> list[Realm]:
        """Those that somebody is in, and the first."""
        return list(self._realms.values())

    def find(self, name: bytes) -> Realm | None:
        """The realm of a namespace, if there is one."""
        tenant = self._keyspace.tenants.find(name)
        return None if tenant is None else self._of_tenant(tenant)

    def of_user(self, user: "User") -> Realm:
        """Where the clients of a user are."""
        if not user.namespace:
            return self.first
        return self.find(user.namespace) or self.nowhere

    def of_database(self, index: int) -> Realm | None:
        """The realm that a database belongs to."""
        known = self._realms.get(index >> rows.TENANT_BITS)
        if known is not None:
            return known
        tenant = self._keyspace.tenants.of_database(index)
        return None if tenant is None else self._of_tenant(tenant)

    def _of_tenant(self, tenant: TenantRecord) -> Realm:
        realm = self._realms.get(tenant.id)
        if realm is None:
            realm = self._realms[tenant.id] = Realm(self._keyspace, tenant, tenant.id)
        realm.tenant = tenant
        return realm

    def forget_gone(self) -> list[Realm]:
        """Forget the realms whose tenants are no more, and return them."""
        of_database = self._keyspace.tenants.of_database
        gone = [
            realm
            for id_, realm in self._realms.items()
            if id_ and of_database(id_ << rows.TENANT_BITS) is None
        ]
        for realm in gone:
            del self._realms[realm.id]
        return gone

    def forget_all(self) -> None:
        """Forget all realms but the first. Requires: their clients are gone."""
        self._realms = {0: self.first}

    def check_invariants(self, sessions: list["Session"], *, obeys: int) -> None:
        """Raise AssertionError for a broken one; sessions with the guard `obeys` are a master's."""
        counts: dict[int, int] = {}
        for session in sessions:
            counts[session.realm.id] = counts.get(session.realm.id, 0) + 1
            if not session.guards & obeys and not session.closing:
                wanted = self.of_user(session.user)
                assert session.realm is wanted, "realms 1: a client is not where its user is"
                assert session.txns is wanted.txns, "realms 1: a client has others' databases"
        for realm in (*self._realms.values(), self.nowhere):
            found = counts.get(realm.id, 0)
            assert realm.clients == found, f"realms 2: {realm.clients} clients, {found} found"
