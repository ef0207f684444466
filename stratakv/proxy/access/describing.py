"""Rights in the words that would set them again: ACL LIST, ACL GETUSER, files.

The commands of a selector are told by the categories that fit best, then one by one. Which
categories those are is Redis's choice: of those with more commands that are right than wrong, the
one with the fewest wrong ones, and among these the largest; then again, without its commands.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from stratakv.proxy.access.selectors import BOTH, READ, WRITE, Selector
from stratakv.proxy.access.users import User
from stratakv.proxy.table.categories import CATEGORIES
from stratakv.proxy.table.registry import Command, every_entry

_SIGNS: Final = {BOTH: b"~", READ: b"%R~", WRITE: b"%W~"}
_MANY: Final = 1 << 31


def flags(user: User) -> list[bytes]:
    """Whether a user may come in, and how."""
    shown = [b"on" if user.is_enabled else b"off"]
    if user.needs_no_password:
        shown.append(b"nopass")
    if user.sanitizes is not None:
        shown.append(b"sanitize-payload" if user.sanitizes else b"skip-sanitize-payload")
    return shown


def line(user: User) -> bytes:
    """A user as files have it: its name and all of its rules."""
    words = [b"user", user.name, *flags(user)]
    words += [b"#" + password for password in user.passwords]
    words += [b"namespace=" + user.namespace] if user.namespace else []
    words += [b" ".join(_rules(user.root))]
    words += [b"(" + b" ".join(_rules(selector)) + b")" for selector in user.selectors[1:]]
    return b" ".join(words)


def _rules(selector: Selector) -> Iterator[bytes]:
    if selector.all_keys or selector.keys:
        yield keys(selector)
    if not selector.all_channels:
        yield b"resetchannels"
    if selector.all_channels or selector.channels:
        yield channels(selector)
    yield commands(selector)


def keys(selector: Selector) -> bytes:
    """The patterns of keys."""
    if selector.all_keys:
        return b"~*"
    return b" ".join(_SIGNS[may] + pattern for pattern, may in selector.keys.items())


def channels(selector: Selector) -> bytes:
    """The patterns of channels."""
    if selector.all_channels:
        return b"&*"
    return b" ".join(b"&" + pattern for pattern in selector.channels)


def commands(selector: Selector) -> bytes:
    """The rules that make the commands what they are; found once, which takes milliseconds."""
    if not selector.told:
        selector.told = _commands(selector)
    return selector.told


def _commands(selector: Selector) -> bytes:
    told = Selector()
    words = [b"-@all"]
    if selector.future:
        told.grant_all()
        words = [b"+@all"]
    for category in _fitting_categories(selector):
        told.set_category(category, not selector.future)
        words.append((b"-@" if selector.future else b"+@") + category.encode())
    for entry in every_entry():
        is_granted = entry in selector.commands
        if is_granted != (entry in told.commands):
            words.append((b"+" if is_granted else b"-") + entry.name.encode())
            told.set_command(entry, is_granted)
        if not is_granted:
            arguments = selector.first_arguments.get(entry, ())
            words += [b"+%b|%b" % (entry.name.encode(), word) for word in arguments]
    assert told.commands == selector.commands, "access: the rules do not tell the commands"
    return b" ".join(words)


def _fitting_categories(selector: Selector) -> Iterator[str]:
    """The categories that tell the commands best, one after the other."""
    left = selector.copy()
    members = dict(_members())
    while members:
        best, fewest, most = "", _MANY, 0
        for category, entries in members.items():
            granted = len(entries & left.commands)
            same, other = granted, len(entries) - granted
            if selector.future:
                same, other = other, same
            if same > other and (other < fewest or (other == fewest and same > most)):
                best, fewest, most = category, other, same
        if not best:
            return
        left.set_category(best, selector.future)
        del members[best]
        yield best


@cache
def _members() -> dict[str, set[Command]]:
    return {
        category: {entry for entry in every_entry() if category in entry.categories}
        for category in CATEGORIES
    }
