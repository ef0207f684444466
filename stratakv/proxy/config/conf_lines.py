"""The lines of a redis.conf: words with quotes and escapes, comments, and files within files."""

import glob
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stratakv.options import REDACTED, RENAMES, BadOption, holds_secret
from stratakv.proxy.wire.requests import split_words

COMMAND_LINE: Final = "the command line"
STANDARD_INPUT: Final = "the standard input"
_WILDCARDS: Final = set("*?[")
_MOST_NESTED: Final = 32
_PLAIN: Final = frozenset(string.ascii_letters + string.digits + "-_.:/*+@~&|%,=#!^()<>[]{}?$")


@dataclass(frozen=True, slots=True)
class ConfLine:
    """A directive and where it stands; `words` come after its name, which is in lower case."""

    name: str
    words: tuple[str, ...]
    file: str
    number: int
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.file}, line {self.number}"

    @property
    def shown(self) -> str:
        """As it was written, but for what may be secret."""
        is_secret = self.name in ("user", RENAMES) or holds_secret(self.name)
        return f"{self.name} {REDACTED}" if is_secret and self.words else self.text

    def without_words(self) -> "ConfLine":
        """The same, for messages about a name that is not known: it may be a misspelt secret."""
        return replace(self, text=f"{self.name} {REDACTED}") if self.words else self


class BadConf(BadOption):
    """A line that cannot be followed."""

    def __init__(self, line: ConfLine, reason: str) -> None:
        super().__init__(line.name, None, reason, line.place)
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.line.place}: '{self.line.shown}': {self.reason}"


def read_file(file: Path) -> str:
    """The text of a file, whose bytes may be any; raises `BadOption`."""
    try:
        return as_text(file.read_bytes())
    except OSError as error:
        raise BadOption("config", str(file), f"cannot be read: {error.strerror}") from None


def as_text(data: bytes) -> str:
    """Bytes as the options have them."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """The opposite."""
    return text.encode("utf-8", "surrogateescape")


class Lines:
    """The lines of texts and of the files that they include, in order.

    Redis enters `dir` as soon as it reads it, so `directory` is where later files are looked for.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._depth = 0

    def of(self, text: str, file: str) -> Iterator[ConfLine]:
        """The lines of a text; raises `BadConf` for one whose quotes are not closed."""
        for number, written in enumerate(text.split("\n"), 1):
            line = _parsed(written, file, number)
            if line is None:
                continue
            if line.name == "include" and len(line.words) == 1:
                yield from self._included(line)
            else:
                yield line

    def _included(self, line: ConfLine) -> Iterator[ConfLine]:
        if self._depth >= _MOST_NESTED:
            raise BadConf(line, "files include each other")
        self._depth += 1
        wanted = str(self.directory / line.words[0])
        names = sorted(glob.glob(wanted)) if _WILDCARDS & set(line.words[0]) else [wanted]
        for name in names:
            try:
                text = read_file(Path(name))
            except BadOption as error:
                raise BadConf(line, error.allowed) from None
            yield from self.of(text, name)
        self._depth -= 1


def _parsed(written: str, file: str, number: int) -> ConfLine | None:
    """A line, or nothing if there is none in it."""
    text = written.strip(" \t\r\n")
    if not text or text.startswith("#"):
        return None
    words = split_words(as_bytes(text))
    if words is None:
        name = text.split()[0].lower()
        hidden = ConfLine(name, (), file, number, f"{name} {REDACTED}")
        raise BadConf(hidden, "Unbalanced quotes in configuration line")
    if not words:
        return None
    name, *rest = map(as_text, words)
    return ConfLine(name.lower(), tuple(rest), file, number, text)


def name_on(written: str) -> str:
    """The directive of one line of a file, or nothing."""
    try:
        line = _parsed(written, "", 0)
    except BadConf:
        return ""
    return line.name if line is not None else ""


def written_as(name: str, words: Sequence[str]) -> str:
    """A line that reads as these words."""
    return " ".join((name, *map(in_quotes_if_needed, words)))


def in_quotes_if_needed(word: str) -> str:
    """A word as it can stand in a line."""
    return word if word and set(word) <= _PLAIN else _quoted(word)


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda one: f"\\x{ord(one[0]):02x}", escaped) + '"'


def from_arguments(arguments: Sequence[str]) -> str:
    """What `--name value ... --name value ...` says, as lines; Redis's rules, oddities included.

    What follows a name is a value even if it begins with `--`, but for the list of `save`, which
    may be empty.
    """
    lines: list[str] = []
    wants_value = False
    for at, argument in enumerate(arguments):
        is_name = argument.startswith("--") and not wants_value
        if not is_name:
            shown = _quoted(argument)
            lines[-1:] = [f"{lines[-1]} {shown}" if lines else shown]
            wants_value = False
            continue
        lines.append(argument[2:])
        wants_value = len(argument.split()) == 1
        follower = arguments[at + 1] if at + 1 < len(arguments) else "--"
        if argument.lower() == "--save" and follower.startswith("--"):
            lines[-1] += ' ""'
            wants_value = False
    return "\n".join(lines)
