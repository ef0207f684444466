"""Who a client is: logging in, and what becomes of clients when users change.

Invariants
1. A session is RESTRICTED if and only if its user may not do everything.
2. It is to authenticate if and only if it has not, and nobody may be the default user unasked.
3. Its user is one of the server's, unless it obeys a master or is about to end.
"""

import math
from typing import TYPE_CHECKING, Final

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.options import Effects, Options
from stratakv.proxy.access.denials import AclLog
from stratakv.proxy.access.failures import Failures
from stratakv.proxy.access.selectors import allows_channel
from stratakv.proxy.access.users import User, Users, unlimited
from stratakv.proxy.clients.realms import Realm
from stratakv.proxy.clients.session import MUST_AUTHENTICATE, RESTRICTED, SUBSCRIBED

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.server import Server

_SUPERUSER: Final = b"(superuser)"


class Logins:
    """The users of a server, and the clients that are these."""

    def __init__(self, server: "Server", options: Options) -> None:
        self._server = server
        self.users = Users()
        self.log = AclLog(options.acllog_max_len)
        self.failures = Failures(options.acl_max_failures)
        self._superuser = unlimited(_SUPERUSER)
        self._choose_channels(options.acl_pubsub_default)
        self.users.default.require(_as_bytes(options.requirepass))

    @property
    def effects(self) -> Effects:
        """What setting its options does."""
        return {
            "requirepass": self._require,
            "acl-pubsub-default": self._choose_channels,
            "acllog-max-len": lambda most: setattr(self.log, "most", most),
            "acl-max-failures": lambda most: setattr(self.failures, "most", most),
        }

    def _require(self, password: str) -> None:
        self.users.default.require(_as_bytes(password))
        self.refresh(self.users.default)

    def _choose_channels(self, word: str) -> None:
        self.users.all_channels = word == "allchannels"

    # clients

    def welcome(self, session: "Session") -> None:
        """A new client, or one after RESET, is the default user, or whom its certificate names."""
        session.user = self._certified(session) or self.users.default
        session.is_authenticated = session.user is not self.users.default or session.user.is_open
        session.enter(self._server.realms.of_user(session.user))
        self._mark(session)

    def _certified(self, session: "Session") -> User | None:
        if self._server.options.tls_auth_clients_user == "off":
            return None
        user = self.users.find(_as_bytes(session.connection.certified_name))
        if user is None or not user.is_enabled:
            return None
        realm = self._server.realms.of_user(user)
        return None if realm.is_full and realm is not session.realm else user

    def exempt(self, session: "Session") -> None:
        """A session that obeys a master may do everything."""
        session.user = self._superuser
        session.is_authenticated = True
        self._mark(session)

    def log_in(self, session: "Session", name: bytes, password: bytes) -> bool:
        """Whether the password was right; then the client is that user from now on.

        Raises where the address has to wait: then even the right one is not looked at.
        """
        address = session.connection.address
        seconds = self.failures.wait_of(address)
        if seconds:
            raise CommandError(errors.TOO_MANY_PASSWORDS % math.ceil(seconds))
        user = self.users.authenticate(name, password)
        if user is None:
            self.failures.count(address)
            return False
        self.failures.forgive(address)
        self._admit(session, self._server.realms.of_user(user))
        session.user = user
        session.is_authenticated = True
        self._mark(session)
        return True

    def _admit(self, session: "Session", realm: Realm) -> None:
        """Let a client into the realm of its user, or raise."""
        if realm is session.realm:
            return
        if session.unit is not None:
            raise CommandError(errors.REALM_IN_UNIT)
        if realm.is_full:
            realm.refused += 1
            raise errors.over_quota(realm.name, f"{realm.quota.clients} clients")
        session.enter(realm)

    def _mark(self, session: "Session") -> None:
        """Set the guards that follow from who a client is."""
        if session.is_authenticated or self.users.default.is_open:
            session.connection.authenticated(session)
        else:
            session.connection.expect_password(session)
        if session.user.is_unlimited:
            session.guards &= ~RESTRICTED
        else:
            session.guards |= RESTRICTED

    def check_invariants(self) -> None:
        """Raise AssertionError for a broken one."""
        for session in self._server.sessions.values():
            user, guards = session.user, session.guards
            assert bool(guards & RESTRICTED) != user.is_unlimited, "logins 1: rights and guard"
            is_locked = not (session.is_authenticated or self.users.default.is_open)
            assert bool(guards & MUST_AUTHENTICATE) == is_locked, "logins 2: a door left open"
            is_known = self.users.find(user.name) is user or user is self._superuser
            assert is_known or session.closing, "logins 3: a client of a user who is gone"

    # users

    def refresh(self, user: User) -> None:
        """A user has changed: so have the clients that are it, and may those that are nobody."""
        concerns_all = user is self.users.default
        for session in self._server.sessions.values():
            if concerns_all or session.user is user:
                self._mark(session)

    def change(self, user: User, changed: User, by: "Session") -> None:
        """Give a user the rules of another; subscribers who lose a channel are cut, and if it is
        bound to another namespace, all of its clients."""
        moves = user.namespace != changed.namespace
        if moves or _loses_channels(user, changed):
            for session in list(self._server.sessions.values()):
                if session.user is user and (moves or self._is_deaf_to(session, changed)):
                    _cut(session, by)
        user.adopt(changed)
        self.refresh(user)

    def _is_deaf_to(self, session: "Session", user: User) -> bool:
        """Whether a client listens to something that a user may not."""
        if not session.guards & SUBSCRIBED:
            return False
        allowed = {name for selector in user.selectors for name in selector.channels}
        pubsub = session.realm.pubsub
        names = pubsub.channels.names_of(session) + pubsub.shard_channels.names_of(session)
        patterns = pubsub.patterns.names_of(session)
        return not (
            all(allows_channel(allowed, name, is_pattern=False) for name in names)
            and all(allows_channel(allowed, name, is_pattern=True) for name in patterns)
        )

    def expel(self, users: list[User], by: "Session | None" = None) -> None:
        """These users are gone, and so are the clients that were these."""
        gone = set(map(id, users))
        for session in list(self._server.sessions.values()):
            if id(session.user) in gone:
                session.user = self.users.default
                session.is_authenticated = False
                self._mark(session)
                _cut(session, by)


def _cut(session: "Session", by: "Session | None") -> None:
    """End a connection; the one that asked for it hears its reply first."""
    if session is by:
        session.closing = True
    else:
        session.connection.abort()


def _loses_channels(user: User, changed: User) -> bool:
    """Whether a user may no longer use a pattern of channels that it could."""
    if any(selector.all_channels for selector in changed.selectors):
        return False
    if any(selector.all_channels for selector in user.selectors):
        return True
    left = {name for selector in changed.selectors for name in selector.channels}
    return any(name not in left for selector in user.selectors for name in selector.channels)


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
