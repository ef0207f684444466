"""A redis.conf, read as what it means here.

Each line is a CONFIG SET on the options of a server that does not run yet. What has no effect here
is noted with the reason; what would change the meaning of data, or break a promise, is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from stratakv import options as declared_options
from stratakv.options import RENAMES, BadOption, Given, Options
from stratakv.proxy.access import acl_file
from stratakv.proxy.access.acl_file import BadUsers
from stratakv.proxy.access.users import Users
from stratakv.proxy.config.conf_lines import (
    COMMAND_LINE,
    BadConf,
    ConfLine,
    Lines,
    as_bytes,
    read_file,
)
from stratakv.proxy.config.conf_names import (
    AS_USUAL,
    FACTS_WHY,
    MANY_WORDS,
    REDIS_DEFAULTS,
    REFUSED,
    REFUSED_ALWAYS,
    UNUSED,
)
from stratakv.proxy.config.redis_names import ALIASES, FACTS, FIXED
from stratakv.proxy.config.settings import Settings
from stratakv.proxy.config.value_kinds import Refused, save_points
from stratakv.proxy.table.registry import TABLE

_WRONG_NUMBER: Final = "wrong number of arguments"
_UNKNOWN: Final = "Bad directive or wrong number of arguments"


def read(
    file: Path | None, *others: tuple[str, str], defaults: Mapping[str, str] | None = None
) -> Given:
    """What a file and other texts, each with the name of where it is from, say together.

    Requires: the command table is filled, for the rules of users. Raises `BadOption`.
    """
    reading = _Reading(Path.cwd(), {**REDIS_DEFAULTS, **(defaults or {})})
    if file is not None:
        reading.take(read_file(file), str(file))
    for text, name in others:
        reading.take(text, name)
    return reading.given(file)


def read_text(text: str, file: Path, directory: Path) -> Given:
    """What a file would say, if it had this text, to a process that starts in that directory."""
    reading = _Reading(directory, REDIS_DEFAULTS)
    reading.take(text, str(file))
    return reading.given(file)


class _Reading:
    """What was read so far."""

    def __init__(self, directory: Path, defaults: Mapping[str, str]) -> None:
        self._lines = Lines(directory)
        self._options = Options(dir=str(directory))
        for name, text in defaults.items():
            self._assign(name, declared_options.parse(name, text))
        self._settings = Settings(self._options, {})
        self._places: dict[str, str] = dict.fromkeys((*defaults, "dir"), "")
        self._users: dict[str, str] = {}
        self._renames: list[tuple[str, str]] = []
        self._called = set(TABLE)
        self._notes: dict[str, list[str]] = {}

    def _assign(self, name: str, value: object) -> None:
        setattr(self._options, name.replace("-", "_"), value)

    def take(self, text: str, name: str) -> None:
        """Read a text to its end."""
        for line in self._lines.of(text, name):
            self._take_line(line)

    def given(self, file: Path | None) -> Given:
        """What it comes to."""
        own = declared_options.declared()
        texts: dict[str, tuple[str, str]] = {}
        flags: dict[str, tuple[str, str]] = {}
        for name, place in self._places.items():
            if name in own:
                shown = declared_options.show(self._options, name)
                (flags if place.startswith(COMMAND_LINE) else texts)[name] = (
                    shown,
                    place or "by default",
                )
        return Given(
            file=str(file.absolute()) if file is not None else "",
            texts=texts,
            flags=flags,
            users=tuple(self._users.values()),
            renames=tuple(self._renames),
            settings=self._settings.beyond_options(self._places),
            notes=tuple(f"{', '.join(what)}: {why}" for why, what in self._notes.items()),
        )

    # one line

    def _take_line(self, line: ConfLine) -> None:
        name = ALIASES.get(line.name, line.name)
        text = self._text(name, line)
        if name in REFUSED_ALWAYS or "." in name:
            raise BadConf(line, REFUSED_ALWAYS.get(name, REFUSED_ALWAYS["loadmodule"]))
        if name in REFUSED and text != REFUSED[name][0]:
            raise BadConf(line, REFUSED[name][1])
        if name == "user":
            self._take_user(line)
        elif name == RENAMES:
            self._take_rename(line)
        elif name in UNUSED:
            is_usual = text == AS_USUAL.get(name, "") or name.startswith("cluster-")
            self._note(line, UNUSED[name], is_usual)
        elif name in FACTS:
            self._note(line, FACTS_WHY.get(name, ""), text == FACTS[name])
        elif name not in self._settings:
            raise BadConf(line.without_words(), _UNKNOWN)
        else:
            self._set(name, text, line)

    def _text(self, name: str, line: ConfLine) -> str:
        """The words of a line as one text; raises BadConf if there are too few or too many."""
        is_known = name in self._settings or name in UNUSED
        if is_known and len(line.words) != 1 and name not in MANY_WORDS:
            raise BadConf(line, _WRONG_NUMBER)
        return " ".join(line.words)

    def _note(self, line: ConfLine, why: str, is_usual: bool) -> None:
        if not is_usual:
            self._notes.setdefault(why, []).append(f"{line.shown} ({line.place})")

    def _take_user(self, line: ConfLine) -> None:
        if not line.words:
            raise BadConf(line, _UNKNOWN)
        rules = " ".join(line.words)
        try:
            acl_file.configured(Users(), [rules])
        except BadUsers as bad:
            reason = str(bad).removeprefix("user 1: ")
            raise BadConf(line, f"Error in user declaration: {reason}") from None
        if line.words[0] in self._users:
            raise BadConf(line, f"Duplicate user '{line.words[0]}'")
        self._users[line.words[0]] = rules

    def _take_rename(self, line: ConfLine) -> None:
        if len(line.words) != 2:
            raise BadConf(line, _UNKNOWN)
        old, new = (as_bytes(word).lower() for word in line.words)
        if old not in self._called:
            raise BadConf(line, "No such command in rename-command")
        self._called.remove(old)
        if new in self._called:
            raise BadConf(line, "Target command name already exists")
        if new:
            self._called.add(new)
        self._renames.append((line.words[0], line.words[1]))

    def _set(self, name: str, text: str, line: ConfLine) -> None:
        try:
            if name in FIXED:
                value = str(FIXED[name].parse(text))
                self._note(line, FIXED[name].reason, value == FIXED[name].value)
            elif name in _READERS:
                self._assign(name, _READERS[name](self, line.words))
                self._places[name] = line.place
            else:
                self._change(name, text, line)
        except Refused as refusal:
            raise BadConf(line, str(refusal)) from None
        except BadOption as error:
            raise BadConf(line, error.allowed) from None

    def _change(self, name: str, text: str, line: ConfLine) -> None:
        """As CONFIG SET does, but for what only a start can set."""
        own = declared_options.declared()
        if name in own and not own[name].metadata["live"]:
            self._assign(name, declared_options.parse(name, text))
        else:
            self._settings.apply([self._settings.check(name, text)])
        for one in self._settings.behind(name):
            self._places[one] = line.place

    # what is read in its own way

    def _read_dir(self, words: Sequence[str]) -> str:
        """Redis enters it at once: what follows is looked for there."""
        entered = (self._lines.directory / words[0]).resolve()
        if not entered.is_dir():
            raise Refused("No such file or directory")
        self._lines.directory = entered
        return str(entered)

    def _read_master(self, words: Sequence[str]) -> str:
        if len(words) == 1:
            words = words[0].split()
        if len(words) != 2:
            raise Refused(_WRONG_NUMBER)
        if [word.lower() for word in words] == ["no", "one"]:
            return ""
        try:
            return str(declared_options.parse("replicaof", " ".join(words)))
        except BadOption:
            raise Refused("Invalid master port") from None

    def _read_save(self, words: Sequence[str]) -> str:
        """Each line adds to those before; an empty one begins anew."""
        text = " ".join(" ".join(words).split())
        before = self._options.save
        points = save_points(text)
        return f"{before} {points}".strip() if text.strip() else ""

    def _read_bind(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(" ".join(words).split())


_READERS: Final = {
    "dir": _Reading._read_dir,
    "replicaof": _Reading._read_master,
    "bind": _Reading._read_bind,
    "save": _Reading._read_save,
}


def summary(notes: Iterable[str], file: str) -> str:
    """What has no effect, as one entry of the log."""
    return "\n  ".join((f"of {file or 'what was given'}, this has no effect here:", *notes))
