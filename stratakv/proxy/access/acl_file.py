"""Users in a file (`aclfile`) or in the configuration (`user`): lines as ACL LIST has them."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from stratakv.proxy.access import rules
from stratakv.proxy.access.rules import RuleError, Unmatched
from stratakv.proxy.access.users import User, Users

_ENDING: Final = (
    b"WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
)


class BadUsers(Exception):
    """Users that cannot be loaded; the text tells where and why, of all that are wrong."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text.decode("utf-8", "replace"))
        self.text = text


def load(users: Users, file: Path, shown: str) -> list[User]:
    """The users of a file, `shown` in messages by that name; raises BadUsers.

    Every line is looked at, and all that is wrong is told.
    """
    name = os.fsencode(shown)
    try:
        text = file.read_bytes()
    except OSError as failure:
        reason = (failure.strerror or "").encode()
        raise BadUsers(b"Error loading ACLs, opening file '%b': %b" % (name, reason)) from None
    found: dict[bytes, User] = {}
    complaints: list[bytes] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        words = line.strip(b" \t\r\n").split(b" ")
        if words != [b""]:
            complaints += _load_line(users, found, words, b"%b:%d" % (name, number), number)
    if complaints:
        raise BadUsers(b"".join(complaints) + _ENDING)
    return list(found.values())


def _load_line(
    users: Users, found: dict[bytes, User], words: list[bytes], place: bytes, number: int
) -> Iterable[bytes]:
    """Add the user of a line; gives what is wrong with it."""
    if words[0] != b"user" or len(words) < 2:
        yield b"%b should start with user keyword followed by the username. " % place
        return
    name = words[1]
    if rules.has_spaces(name):
        yield b"'%b: username '%b' contains invalid characters. " % (place, name)
        return
    if name in found:
        yield b"WARNING: Duplicate user '%b' found on line %d. " % (name, number)
        return
    user = found[name] = users.new(name)
    try:
        yield from _apply_all(users, user, rules.merged(words[2:]), place)
    except Unmatched:
        yield b"%b: Unmatched parenthesis in selector definition." % place


def _apply_all(users: Users, user: User, words: Sequence[bytes], place: bytes) -> Iterable[bytes]:
    """Of other mistakes than unknown names only the first is told: others may follow from it."""
    has_failed = False
    for word in words:
        try:
            rules.apply(user, word.strip(b"\t\r\n"), all_channels=users.all_channels)
        except RuleError as refused:
            if refused.reason == rules.UNKNOWN:
                shown = refused.rule
                yield b"%b: Error in applying operation '%b': %b. " % (place, shown, refused.reason)
            elif not has_failed:
                has_failed = True
                yield b"%b: %b. " % (place, refused.reason)


def configured(users: Users, lines: Sequence[str]) -> list[User]:
    """The users of the configuration; raises BadUsers for the first that is wrong."""
    found: dict[bytes, User] = {}
    for number, text in enumerate(lines, 1):
        words = os.fsencode(text).split()
        if words[:1] == [b"default"]:
            words.insert(1, b"reset")  # as Redis does, which shows in its flags
        complaints = list(_load_line(users, found, [b"user", *words], b"user %d" % number, number))
        if complaints:
            raise BadUsers(b"".join(complaints).strip())
    return list(found.values())


def save(lines: Iterable[bytes], file: Path) -> None:
    """Put the lines of users into a file; raises OSError, and then it is as it was."""
    text = b"".join(line + b"\n" for line in lines)
    beside = file.with_name(file.name + ".new")
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    try:
        with beside.open("wb") as new:
            new.write(text)
            new.flush()
            os.fsync(new.fileno())
        beside.chmod(mode)
        beside.replace(file)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
