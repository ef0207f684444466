"""Namespaces of users: made, dropped, renamed, given quotas, and measured."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from stratakv import errors
from stratakv.encodings.keyspace.tenants import MOST_TENANTS
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.tenant_records import Quota, TenantRecord, is_name
from stratakv.errors import CommandError, StoreUnavailable
from stratakv.proxy.clients.realms import Realm

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

QUOTA_WORDS: Final = {
    "keys": b"KEYS",
    "bytes": b"BYTES",
    "operations": b"OPS",
    "clients": b"CLIENTS",
}
"""What a part of a quota is called by those who give it."""
MEASURE_SECONDS: Final = 1.0
MEASURED_AT_ONCE: Final = 20
"""Databases whose place on disk is asked for at a time: that takes some 0.1 ms for each."""
SETTLE_SECONDS: Final = 5.0
"""The least time between two looks at whether a namespace is really beyond its quota."""


class Tenancy:
    """What becomes of namespaces. Its changes join the commit of the turn."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._keyspace = server.keyspace
        self._tenants = server.keyspace.tenants
        self._to_measure: list[Realm] = []
        self._measured_at = 0.0
        self._settling: asyncio.Future[None] | None = None
        """The work on the files of a namespace that seems to be beyond its quota."""

    def begin(self) -> None:
        """At the start: users may be bound to namespaces that nobody has made yet."""
        self.make_for_users()

    def abandon(self) -> None:
        """A commit was refused: namespaces may not exist after all, or exist again."""
        self._server.scripting.forget_libraries()
        self._end(self._server.realms.forget_gone())
        for session in list(self._server.sessions.values()):
            realm = self._server.realms.of_user(session.user)
            if realm is not session.realm and not session.closing:
                session.connection.abort()

    def begin_anew(self) -> None:
        """Everything was exchanged, as by a full sync: who was in a realm has to come again."""
        realms = self._server.realms
        for session in list(self._server.sessions.values()):
            if session.realm is not realms.first:
                session.connection.abort()
        self._forget_gone()
        realms.forget_all()

    def _tell(self, *words: bytes) -> None:
        """Replicas hear of what was changed, and on a replica the stream that it was."""
        keyspace = self._keyspace
        keyspace.dirty = True
        if keyspace.replicates:
            keyspace.on_effects([(0, (b"STRATA", b"NAMESPACE", *words))])

    # making and dropping

    def make_for_users(self) -> None:
        """Make the namespaces that users are bound to, as far as that is possible."""
        for name in sorted({user.namespace for user in self._server.logins.users} - {b""}):
            try:
                self.make_for_user(name)
            except (CommandError, StoreUnavailable) as failure:
                log.warning("namespace %s cannot be made: %s", name.decode(), failure)

    def make_for_user(self, name: bytes) -> None:
        """Make a namespace that a user is to be bound to, unless there is one, or a master has to
        say so; raises if it cannot be."""
        if self._tenants.find(name) is not None or not self._server.replication.is_master:
            return
        self._server.dispatcher.guards.check_room()
        self.create(name, Quota())
        log.info("namespace %s was made for its users", name.decode())

    def create(self, name: bytes, quota: Quota, id_: int = 0) -> None:
        """Make a namespace; raises if there is one so called, or there are too many."""
        if self._keyspace.measures:
            raise CommandError(errors.NO_NAMESPACES)
        self._check_new(name)
        if len(self._tenants) >= MOST_TENANTS:
            raise CommandError(errors.TOO_MANY_NAMESPACES % MOST_TENANTS)
        self._check_replicas(is_told=bool(id_))
        made = self._tenants.create(name, quota, id_)
        self._tell(b"CREATE", name, b"ID", b"%d" % made.id, *quota_words(quota))
        self._settle_users()

    def _check_replicas(self, *, is_told: bool) -> None:
        """Replicas that cannot have namespaces are in the way, or are cut if a master has told."""
        unable = self._server.replication.replicas.unable()
        if unable and not is_told:
            names = ", ".join(one.name for one in unable).encode()
            raise CommandError(errors.REPLICAS_WITHOUT_NAMESPACES % names)
        for replica in unable:
            log.warning("replica %s cannot have namespaces of users: closing", replica.name)
            replica.session.connection.abort()

    def _check_new(self, name: bytes) -> None:
        if not is_name(name):
            raise CommandError(errors.BAD_NAMESPACE)
        if self._tenants.find(name) is not None:
            raise errors.namespace_exists(name)

    def _settle_users(self) -> None:
        """Clients who are nowhere may be somewhere now."""
        realms = self._server.realms
        for session in self._server.sessions.values():
            if session.realm is realms.nowhere:
                session.enter(realms.of_user(session.user))

    def realm(self, name: bytes) -> Realm:
        """The realm of a namespace; raises if there is none."""
        realm = self._server.realms.find(name)
        if realm is None:
            raise errors.no_such_namespace(name)
        return realm

    def drop(self, name: bytes, *, is_told: bool = False) -> None:
        """Drop a namespace with all that is in it; if a master has told, whoever is bound to it.

        Requires: nobody works on keys.
        """
        realm = self.realm(name)
        users = self.users_of(name)
        if users and not is_told:
            raise errors.namespace_in_use(name, users)
        assert realm.tenant is not None
        self._server.housekeeper.reclaimer.restart()
        self._keyspace.drop_tenant(realm.tenant)
        self._tell(b"DROP", name)
        self._end(self._server.realms.forget_gone())

    def users_of(self, name: bytes) -> list[bytes]:
        """The users who are bound to a namespace."""
        return [user.name for user in self._server.logins.users if user.namespace == name]

    def _end(self, gone: list[Realm]) -> None:
        """Cut the clients of realms that are no more."""
        lost = {id(realm) for realm in gone}
        for realm in gone:
            self._server.scripting.forget_tenant(realm.id)
        for session in list(self._server.sessions.values()):
            if id(session.realm) in lost:
                session.connection.abort()
        self._forget_gone()

    def _forget_gone(self) -> None:
        """Who obeys a master has the databases of all at hand: those that are gone no longer."""
        for session in self._server.sessions.values():
            if session.txns is not session.realm.txns:
                session.txns.forget_gone()

    def rename(self, name: bytes, new: bytes) -> None:
        """Call a namespace otherwise; its users, here, are bound to it as before."""
        realm = self.realm(name)
        self._check_new(new)
        assert realm.tenant is not None
        self._tenants.rename(realm.tenant, new)
        self._tell(b"RENAME", name, new)
        for user in self._server.logins.users:
            if user.namespace == name:
                user.namespace = new

    def set_quota(self, name: bytes, quota: Quota) -> None:
        """Give a namespace another quota."""
        realm = self.realm(name)
        assert realm.tenant is not None
        realm.tenant.quota = quota
        self._tenants.save(realm.tenant)
        self._tell(b"QUOTA", name, *quota_words(quota))

    # what it takes

    def look(self) -> None:
        """Called ten times a second: see how much disk the namespaces take, some at a time."""
        now = self._server.loop.time()
        if now >= self._measured_at + MEASURE_SECONDS:
            self._measured_at = now
            self._measure()
        if self._settling is None:
            realm = next((one for one in self._server.realms if self._is_to_settle(one, now)), None)
            if realm is not None:
                self._settle(realm, now)

    def _measure(self) -> None:
        if not self._to_measure:
            self._to_measure = list(self._server.realms)
        left = MEASURED_AT_ONCE
        while self._to_measure and left > 0:
            left -= self._measure_one(self._to_measure.pop())

    def _measure_one(self, realm: Realm) -> int:
        """Ask how much disk a namespace takes; returns how many databases it has."""
        if realm.tenant is None or self._tenants.find(realm.name) is not realm.tenant:
            return 0
        spans = self._spans(realm.tenant)
        realm.disk_bytes = sum(self._server.store.size(*span) for span in spans)
        return len(spans) // len(rows.KEYED_PREFIXES)

    def _spans(self, tenant: TenantRecord) -> list[tuple[bytes, bytes]]:
        """Where the rows of a tenant are."""
        return [
            (prefix + database.ns, rows.end_of(prefix + database.ns))
            for database in self._keyspace.databases_of(tenant)
            for prefix in rows.KEYED_PREFIXES
        ]

    def _is_to_settle(self, realm: Realm, now: float) -> bool:
        """Whether a namespace seems to be beyond its quota: what was written counts as often as it
        was, and what was deleted still does, until its part of the files is put in order."""
        return realm.is_beyond_bytes and now >= realm.settled_at + SETTLE_SECONDS

    def _settle(self, realm: Realm, now: float) -> None:
        """Put a namespace's part of the files in order, in a thread, and measure it again."""
        assert realm.tenant is not None
        spans, store = self._spans(realm.tenant), self._server.store
        counted = realm.written_bytes
        realm.settled_at = now

        def compact() -> None:
            for span in spans:
                store.compact(*span)

        def ended(work: "asyncio.Future[None]") -> None:
            self._settling = None
            if work.cancelled() or work.exception() is not None:
                return  # the store tells of that itself
            realm.written_bytes -= counted
            self._measure_one(realm)

        self._settling = self._server.in_thread(compact)
        self._settling.add_done_callback(ended)

    def keys_of(self, realm: Realm) -> int:
        """How many keys a namespace has."""
        if realm.tenant is None:
            return 0
        return sum(one.live for one in self._keyspace.databases_of(realm.tenant))


def quota_words(quota: Quota) -> list[bytes]:
    """A quota as STRATA NAMESPACE takes it."""
    numbers = zip(QUOTA_WORDS.values(), quota, strict=True)
    return [word for name, number in numbers for word in (name, b"%d" % number)]
