"""The words of ACL SETUSER: what each does to a user, or why it is refused, in Redis's words."""

from collections.abc import Callable, Sequence
from typing import Final

from stratakv.encodings.layout.tenant_records import is_name
from stratakv.proxy.access import passwords
from stratakv.proxy.access.selectors import BOTH, READ, WRITE, Selector
from stratakv.proxy.access.users import DEFAULT, User
from stratakv.proxy.table.categories import CATEGORIES
from stratakv.proxy.table.registry import find_entry
from stratakv.proxy.wire.requests import split_words

SYNTAX: Final = b"Syntax error"
UNKNOWN: Final = b"Unknown command or category name in ACL"
NO_FIRST_ARGUMENT: Final = b"Allowing first-arg of a subcommand is not supported"
AFTER_ALL_KEYS: Final = (
    b"Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have"
    b" any effect. Try 'resetkeys' to start with an empty list of patterns"
)
AFTER_ALL_CHANNELS: Final = (
    b"Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not"
    b" have any effect. Try 'resetchannels' to start with an empty list of channels"
)
NO_SUCH_PASSWORD: Final = b"The password you are trying to remove from the user does not exist"
BAD_DIGEST: Final = (
    b"The password hash must be exactly 64 characters and contain only lowercase hexadecimal"
    b" characters"
)
BAD_NAMESPACE: Final = (
    b"A namespace has 1 to 64 letters, digits, underscores, dots and hyphens in its name"
)
DEFAULT_IS_UNBOUND: Final = b"The default user cannot be bound to a namespace"
_NAMESPACE: Final = b"namespace="
_SPACES: Final = frozenset(b" \t\n\v\f\r\0")
_PERMISSIONS: Final = {b"r": READ, b"w": WRITE}


class RuleError(Exception):
    """A rule that is refused, and why."""

    def __init__(self, rule: bytes, reason: bytes) -> None:
        super().__init__(reason.decode())
        self.rule = rule.partition(b"\0")[0]
        self.reason = reason


class Unmatched(Exception):
    """A parenthesis is never closed; `start` is the word that opens it."""

    def __init__(self, start: bytes) -> None:
        super().__init__()
        self.start = start


def has_spaces(text: bytes) -> bool:
    """Whether a name or a pattern has what would not survive being written into a line."""
    return not _SPACES.isdisjoint(text)


def merged(words: Sequence[bytes]) -> list[bytes]:
    """The rules that words make up: a selector may be spread over several. Raises `Unmatched`."""
    rules: list[bytes] = []
    opened: bytes | None = None
    selector = b""
    for word in words:
        if word[:1] == b"(" and word[-1:] != b")":
            opened = selector = word
        elif opened is not None:
            selector += b" " + word
            if word[-1:] == b")":
                opened = None
                rules.append(selector)
        else:
            rules.append(word)
    if opened is not None:
        raise Unmatched(opened)
    return rules


def apply(user: User, rule: bytes, *, all_channels: bool) -> None:
    """Change a user by one rule; `all_channels` is what new selectors begin with.

    Raises RuleError, and then the user may have changed in part.
    """
    user.forget_verdicts()
    if not rule:
        return
    change = _OF_USERS.get(rule.partition(b"\0")[0].lower())
    by_sign = _OF_PASSWORDS.get(rule[:1])
    if change is not None:
        change(user, all_channels)
    elif by_sign is not None:
        by_sign(user, rule)
    elif rule[: len(_NAMESPACE)].lower() == _NAMESPACE:
        _bind(user, rule)
    elif rule[:1] == b"(" and rule[-1:] == b")":
        user.selectors.append(_selector(rule, all_channels))
    else:
        apply_to_selector(user.root, rule)


def _bind(user: User, rule: bytes) -> None:
    """Bind a user to a namespace, or with no name to none."""
    name = rule[len(_NAMESPACE) :]
    if name and not is_name(name):
        raise RuleError(rule, BAD_NAMESPACE)
    if name and user.name == DEFAULT:
        raise RuleError(rule, DEFAULT_IS_UNBOUND)
    user.namespace = name


def _selector(rule: bytes, all_channels: bool) -> Selector:
    """The selector within parentheses; the whole rule is named if a word of it is refused."""
    selector = Selector(all_channels=all_channels)
    try:
        for word in split_words(rule[1:-1]) or ():
            apply_to_selector(selector, word)
    except RuleError as refused:
        raise RuleError(rule, refused.reason) from None
    return selector


# the user


def _reset(user: User, all_channels: bool) -> None:
    fresh = User(user.name, all_channels=all_channels)
    fresh.sanitizes = True
    user.adopt(fresh)


def _set_flags(**flags: bool) -> Callable[[User, bool], None]:
    def change(user: User, _: bool) -> None:
        for name, value in flags.items():
            setattr(user, name, value)

    return change


def _set_passwords(needed: bool) -> Callable[[User, bool], None]:
    def change(user: User, _: bool) -> None:
        user.passwords = []
        user.needs_no_password = not needed

    return change


def _clear_selectors(user: User, _: bool) -> None:
    del user.selectors[1:]


_OF_USERS: Final[dict[bytes, Callable[[User, bool], None]]] = {
    b"on": _set_flags(is_enabled=True),
    b"off": _set_flags(is_enabled=False),
    b"sanitize-payload": _set_flags(sanitizes=True),
    b"skip-sanitize-payload": _set_flags(sanitizes=False),
    b"nopass": _set_passwords(needed=False),
    b"resetpass": _set_passwords(needed=True),
    b"clearselectors": _clear_selectors,
    b"reset": _reset,
}


def _digest(rule: bytes) -> bytes:
    """What is kept of the password that a rule names, openly or not."""
    if rule[:1] in (b">", b"<"):
        return passwords.digest(rule[1:])
    if not passwords.is_digest(rule[1:]):
        raise RuleError(rule, BAD_DIGEST)
    return rule[1:]


def _add_password(user: User, rule: bytes) -> None:
    digest = _digest(rule)
    if digest not in user.passwords:
        user.passwords.append(digest)
    user.needs_no_password = False


def _remove_password(user: User, rule: bytes) -> None:
    digest = _digest(rule)
    if digest not in user.passwords:
        raise RuleError(rule, NO_SUCH_PASSWORD)
    user.passwords.remove(digest)


_OF_PASSWORDS: Final[dict[bytes, Callable[[User, bytes], None]]] = {
    b">": _add_password,
    b"#": _add_password,
    b"<": _remove_password,
    b"!": _remove_password,
}


# selectors


def apply_to_selector(selector: Selector, rule: bytes) -> None:
    """Change a selector by one rule; raises RuleError."""
    whole = _OF_SELECTORS.get(rule.partition(b"\0")[0].lower())
    by_sign = _BY_SIGN.get(rule[:1])
    if whole is not None:
        whole(selector)
    elif by_sign is not None:
        by_sign(selector, rule)
    else:
        raise RuleError(rule, SYNTAX)


def _allow_keys(selector: Selector, rule: bytes) -> None:
    if selector.all_keys:
        raise RuleError(rule, AFTER_ALL_KEYS)
    permissions, at = (BOTH, 1) if rule[:1] == b"~" else _parse_permissions(rule)
    if has_spaces(rule[at:]):
        raise RuleError(rule, SYNTAX)
    selector.allow_keys(rule[at:], permissions)


def _parse_permissions(rule: bytes) -> tuple[int, int]:
    """What %R~, %W~ or %RW~ stands for, and where the pattern begins."""
    permissions, at = 0, 1
    while at < len(rule) and rule[at : at + 1] != b"~":
        permission = _PERMISSIONS.get(rule[at : at + 1].lower(), 0)
        if not permission or permissions & permission:
            raise RuleError(rule, SYNTAX)
        permissions |= permission
        at += 1
    if not permissions:
        raise RuleError(rule, SYNTAX)
    return permissions, at + 1


def _allow_channel(selector: Selector, rule: bytes) -> None:
    if selector.all_channels:
        raise RuleError(rule, AFTER_ALL_CHANNELS)
    if has_spaces(rule[1:]):
        raise RuleError(rule, SYNTAX)
    selector.channels[rule[1:]] = None


def _allow_command(selector: Selector, rule: bytes) -> None:
    name = rule[1:].partition(b"\0")[0]
    if name[:1] == b"@":
        _set_category(selector, rule, allowed=True)
        return
    before, bar, word = name.rpartition(b"|")
    entry = find_entry(before if bar else name)
    if entry is None:
        raise RuleError(rule, UNKNOWN)
    if not bar:
        selector.set_command(entry, allowed=True)
        return
    if len(entry.words) > 1:
        raise RuleError(rule, NO_FIRST_ARGUMENT)
    if not word:
        raise RuleError(rule, SYNTAX)
    if not entry.subcommands:
        selector.allow_argument(entry, word)
        return
    subcommand = find_entry(name)
    if subcommand is None:
        raise RuleError(rule, UNKNOWN)
    selector.set_command(subcommand, allowed=True)


def _refuse_command(selector: Selector, rule: bytes) -> None:
    name = rule[1:].partition(b"\0")[0]
    if name[:1] == b"@":
        _set_category(selector, rule, allowed=False)
        return
    entry = find_entry(name)
    if entry is None:
        raise RuleError(rule, UNKNOWN)
    selector.set_command(entry, allowed=False)


def _set_category(selector: Selector, rule: bytes, *, allowed: bool) -> None:
    category = rule[2:].partition(b"\0")[0].lower().decode("latin-1")
    if category not in CATEGORIES:
        raise RuleError(rule, UNKNOWN)
    selector.set_category(category, allowed)


_OF_SELECTORS: Final[dict[bytes, Callable[[Selector], None]]] = {
    b"allkeys": Selector.open_keys,
    b"~*": Selector.open_keys,
    b"resetkeys": Selector.reset_keys,
    b"allchannels": Selector.open_channels,
    b"&*": Selector.open_channels,
    b"resetchannels": Selector.reset_channels,
    b"allcommands": Selector.grant_all,
    b"+@all": Selector.grant_all,
    b"nocommands": Selector.revoke_all,
    b"-@all": Selector.revoke_all,
}

_BY_SIGN: Final[dict[bytes, Callable[[Selector, bytes], None]]] = {
    b"~": _allow_keys,
    b"%": _allow_keys,
    b"&": _allow_channel,
    b"+": _allow_command,
    b"-": _refuse_command,
}
