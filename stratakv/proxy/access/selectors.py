"""Selectors: sets of rights, of which a user has one and may have more.

A request is allowed by a selector as a whole or not at all: what two of them allow is not added up.

Invariants
1. `all_commands` says that every command may be run, and so that it is granted.
2. `future` is set by +@all alone: rules that start from there only take away.
3. Arguments are allowed for commands that are not granted and have no subcommands.
"""

from collections.abc import Callable, Iterable
from typing import Final

from stratakv.encodings.layout.globs import compile_glob
from stratakv.proxy.table.registry import TABLE, Command, every_entry

READ: Final = 1
WRITE: Final = 2
BOTH: Final = READ | WRITE
_SPECIAL: Final = frozenset(b"*?[\\")


class Selector:
    """Which commands may be run, on which keys, with which channels."""

    __slots__ = (
        "_matchers",
        "all_channels",
        "all_commands",
        "all_keys",
        "channels",
        "commands",
        "first_arguments",
        "future",
        "keys",
        "told",
    )

    def __init__(self, *, all_channels: bool = False) -> None:
        self.all_commands = False
        self.future = False
        self.commands: set[Command] = set()
        """Those that are granted, containers and subcommands each for itself."""
        self.first_arguments: dict[Command, list[bytes]] = {}
        """With what first arguments a command that is not granted may be run."""
        self.all_keys = False
        self.keys: dict[bytes, int] = {}
        """Patterns of keys, and whether they may be read, written or both, in their order."""
        self.all_channels = all_channels
        self.channels: dict[bytes, None] = {}
        """Patterns of channels, in their order."""
        self._matchers: dict[int, Callable[[bytes], bool]] = {}
        self.told = b""
        """The rules about commands in words, if they were told; see describing.py."""

    def copy(self) -> "Selector":
        """Another one with the same rights."""
        other = Selector(all_channels=self.all_channels)
        other.all_commands, other.future = self.all_commands, self.future
        other.commands = set(self.commands)
        other.first_arguments = {
            entry: list(words) for entry, words in self.first_arguments.items()
        }
        other.all_keys, other.keys = self.all_keys, dict(self.keys)
        other.channels = dict(self.channels)
        other.told = self.told
        return other

    @property
    def is_unlimited(self) -> bool:
        """Whether there is nothing that it does not allow."""
        return self.all_commands and self.all_keys and self.all_channels

    # commands

    def grant_all(self) -> None:
        """+@all."""
        self.commands = set(every_entry())
        self.all_commands = self.future = True
        self.first_arguments.clear()
        self.told = b""

    def revoke_all(self) -> None:
        """-@all."""
        self.commands = set()
        self.all_commands = self.future = False
        self.first_arguments.clear()
        self.told = b""

    def set_command(self, entry: Command, allowed: bool) -> None:
        """Grant or revoke a command, with its subcommands."""
        concerned = {entry, *entry.subcommands.values()}
        if allowed:
            self.commands |= concerned
        else:
            self.commands -= concerned
            self.all_commands = False
        self.first_arguments.pop(entry, None)
        self.told = b""

    def set_category(self, category: str, allowed: bool) -> None:
        """Grant or revoke the commands of a category."""
        for entry in TABLE.values():
            for one in (entry, *entry.subcommands.values()):
                if category in one.categories:
                    self.set_command(one, allowed)

    def allow_argument(self, entry: Command, word: bytes) -> None:
        """Let a command be run with that first argument, even if it is not granted."""
        words = self.first_arguments.setdefault(entry, [])
        if word.lower() not in [known.lower() for known in words]:
            words.append(word)
        self.told = b""

    def grants(self, entry: Command) -> bool:
        """Whether a command may be run, whatever its arguments are."""
        return self.all_commands or entry in self.commands or "no_auth" in entry.flags

    # keys

    def allow_keys(self, pattern: bytes, permissions: int) -> None:
        """Let keys that match be read, written or both. Requires: not all are allowed."""
        self.keys[pattern] = self.keys.get(pattern, 0) | permissions
        self._matchers = {}

    def open_keys(self) -> None:
        """allkeys."""
        self.reset_keys()
        self.all_keys = True

    def reset_keys(self) -> None:
        """resetkeys."""
        self.all_keys = False
        self.keys = {}
        self._matchers = {}

    def allows_key(self, key: bytes, permissions: int) -> bool:
        """Whether one pattern allows all of that with a key."""
        return self.matcher(permissions)(key)

    def matcher(self, permissions: int) -> Callable[[bytes], bool]:
        """What tells whether one pattern allows all of that with a key."""
        if self.all_keys:
            return _always
        matches = self._matchers.get(permissions)
        if matches is None:
            patterns = [one for one, may in self.keys.items() if may & permissions == permissions]
            matches = self._matchers[permissions] = _any_of(patterns)
        return matches

    def prefixes(self, permissions: int) -> tuple[bytes, ...]:
        """What keys may begin with, if that is all there is to know; empty if there is more."""
        patterns = [one for one, may in self.keys.items() if may & permissions == permissions]
        if self.all_keys or not all(one[-1:] == b"*" and _is_plain(one[:-1]) for one in patterns):
            return ()
        return tuple(one[:-1] for one in patterns)

    def reads_everything(self) -> bool:
        """Whether any key may be read."""
        return self.all_keys or bool(self.keys.get(b"*", 0) & READ)

    # channels

    def open_channels(self) -> None:
        """allchannels."""
        self.channels = {}
        self.all_channels = True

    def reset_channels(self) -> None:
        """resetchannels."""
        self.channels = {}
        self.all_channels = False

    def allows_channel(self, name: bytes, *, is_pattern: bool) -> bool:
        """Whether a channel, or the pattern of many, is allowed. Requires: not all are."""
        return allows_channel(self.channels, name, is_pattern=is_pattern)


def allows_channel(patterns: Iterable[bytes], name: bytes, *, is_pattern: bool) -> bool:
    """Whether one of the patterns matches a channel, or is that very pattern."""
    if is_pattern:
        return name.partition(b"\0")[0] in patterns
    return any(compile_glob(pattern)(name) for pattern in patterns)


def _always(_key: bytes) -> bool:
    return True


def _any_of(patterns: list[bytes]) -> Callable[[bytes], bool]:
    """Whether a key matches one of the patterns; prefixes, the usual ones, are one look."""
    prefixes = tuple(one[:-1] for one in patterns if one[-1:] == b"*" and _is_plain(one[:-1]))
    names = frozenset(one for one in patterns if _is_plain(one))
    if not names and len(prefixes) == len(patterns):
        return lambda key: key.startswith(prefixes)
    others = [
        compile_glob(one) for one in patterns if one not in names and one[:-1] not in prefixes
    ]

    def matches(key: bytes) -> bool:
        if key in names or key.startswith(prefixes):
            return True
        return any(fits(key) for fits in others)

    return matches


def _is_plain(pattern: bytes) -> bool:
    return _SPECIAL.isdisjoint(pattern)
