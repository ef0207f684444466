"""A user, and all of them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from stratakv.proxy.access import passwords
from stratakv.proxy.access.selectors import Selector
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

DEFAULT: Final = b"default"


class Verdict:
    """What a user may do with a command, found out when it is first used."""

    __slots__ = ("is_barred", "is_free", "key_at", "matches", "most_args", "prefixes")

    def __init__(
        self,
        *,
        is_free: bool,
        key_at: int,
        most_args: int,
        matches: Callable[[bytes], bool],
        prefixes: tuple[bytes, ...] = (),
        is_barred: bool = False,
    ) -> None:
        self.is_barred = is_barred
        """It may never be run: the user is bound to a namespace, and it is not for those."""
        self.is_free = is_free
        """Whatever its keys and channels are, it may be run."""
        self.key_at = key_at
        """Else, where the one key of a short request stands; 0 if there is no telling."""
        self.most_args = most_args
        """How long a request may be to be a short one."""
        self.matches = matches
        """Whether a short request with that key is allowed; if not, another selector may do."""
        self.prefixes = prefixes
        """Where they tell the same, what the key has to begin with: that is asked faster."""

    def passes(self, request: Request) -> bool:
        """Whether a request is allowed, as far as can be told at once."""
        if self.is_free:
            return True
        at = self.key_at
        if not 0 < at < len(request) <= self.most_args:
            return False
        if self.prefixes:
            return request[at].startswith(self.prefixes)
        return self.matches(request[at])


class User:
    """Who a client is. It is changed where it stands, so those who know it follow."""

    __slots__ = (
        "is_enabled",
        "name",
        "namespace",
        "needs_no_password",
        "passwords",
        "sanitizes",
        "selectors",
        "verdicts",
    )

    def __init__(self, name: bytes, *, all_channels: bool = False) -> None:
        self.name = name
        self.is_enabled = False
        self.needs_no_password = False
        self.sanitizes: bool | None = None
        """Whether the payloads that it restores are looked at whole; unsaid, they are."""
        self.namespace = b""
        """What it is bound to: it sees that alone, and administers nothing. Empty if it is not."""
        self.passwords: list[bytes] = []
        """Their digests, in their order."""
        self.selectors = [Selector(all_channels=all_channels)]
        """The first is the user's own; what the others allow, they allow by themselves."""
        self.forget_verdicts()

    def forget_verdicts(self) -> None:
        """The rights have changed: what was known of single commands no longer holds."""
        self.verdicts: dict[Command, Verdict] = {}
        """What is known of the commands that it has used; see checking.py."""

    @property
    def root(self) -> Selector:
        """The user's own rights."""
        return self.selectors[0]

    @property
    def is_unlimited(self) -> bool:
        """Whether there is nothing to be looked at: it may do everything."""
        return not self.namespace and any(one.is_unlimited for one in self.selectors)

    @property
    def is_open(self) -> bool:
        """Whether anybody may be this user."""
        return self.is_enabled and self.needs_no_password

    def copy(self) -> "User":
        """Another one with the same rules."""
        other = User(self.name)
        other.adopt(self)
        return other

    def adopt(self, other: "User") -> None:
        """Take over all rules of another user."""
        self.is_enabled = other.is_enabled
        self.needs_no_password = other.needs_no_password
        self.sanitizes = other.sanitizes
        self.namespace = other.namespace
        self.passwords = list(other.passwords)
        self.selectors = [selector.copy() for selector in other.selectors]
        self.forget_verdicts()

    def require(self, password: bytes) -> None:
        """Let it have this password alone, or none if that is empty (requirepass)."""
        self.passwords = [passwords.digest(password)] if password else []
        self.needs_no_password = not password


def unlimited(name: bytes) -> User:
    """A user who may do everything, and needs no password."""
    user = User(name)
    user.is_enabled = user.needs_no_password = True
    user.root.grant_all()
    user.root.open_keys()
    user.root.open_channels()
    return user


class Users:
    """All users by their names; `default` is always there, and always the same object."""

    def __init__(self) -> None:
        self.default = unlimited(DEFAULT)
        self._users = {DEFAULT: self.default}
        self.all_channels = False
        """Whether new users may use all channels (acl-pubsub-default)."""

    def __iter__(self) -> Iterator[User]:
        return iter([self._users[name] for name in sorted(self._users)])

    def find(self, name: bytes) -> User | None:
        """The user of a name, if there is one."""
        return self._users.get(name)

    def new(self, name: bytes) -> User:
        """A user with no rights; it is not among the others yet."""
        return User(name, all_channels=self.all_channels)

    def add(self, user: User) -> None:
        """Take a user among the others."""
        self._users[user.name] = user

    def remove(self, name: bytes) -> User | None:
        """The user who was taken away, if there was one. Requires: it is not the default one."""
        return self._users.pop(name, None)

    def replace(self, users: Iterable[User]) -> list[User]:
        """Have these users and no others; returns those that are gone, all but the default one."""
        gone = [user for user in self._users.values() if user is not self.default]
        named = {user.name: user for user in users}
        self.default.adopt(named.pop(DEFAULT) if DEFAULT in named else unlimited(DEFAULT))
        self._users = {DEFAULT: self.default, **named}
        return gone

    def authenticate(self, name: bytes, password: bytes) -> User | None:
        """The user if the password is right; a wrong name takes as long as a wrong password."""
        user = self._users.get(name)
        is_right = passwords.is_one_of(password, user.passwords if user is not None else ())
        if user is None or not user.is_enabled:
            return None
        return user if is_right or user.needs_no_password else None
