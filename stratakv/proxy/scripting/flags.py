"""The first line of a script or library, `#!lua name=value ...`, and the flags of scripts."""

from dataclasses import dataclass
from typing import Final

from stratakv.errors import CommandError
from stratakv.proxy.wire.requests import split_words

FLAGS: Final = ("no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys")
"""In the order in which FUNCTION LIST shows them."""


@dataclass(frozen=True, slots=True)
class Shebang:
    """A first line and what follows it; `declared` says whether there was one."""

    declared: bool
    flags: frozenset[str]
    body: bytes

    @property
    def read_only(self) -> bool:
        """Whether the script has declared that it writes nothing."""
        return "no-writes" in self.flags


def declared_flags(code: bytes) -> frozenset[str] | None:
    """The flags of a script's first line; None if it has none that can be read."""
    try:
        shebang = script_shebang(code)
    except CommandError:
        return None
    return shebang.flags if shebang.declared else None


def script_shebang(code: bytes) -> Shebang:
    """The first line of a script, which may be missing."""
    if not code.startswith(b"#!"):
        return Shebang(False, frozenset(), code)
    line, newline, _ = code.partition(b"\n")
    if not newline:
        raise CommandError(b"ERR Invalid script shebang")
    words = split_words(line)
    if not words:
        raise CommandError(b"ERR Invalid engine in script shebang")
    if words[0] != b"#!lua":
        raise CommandError(b"ERR Unexpected engine in script shebang: %b" % words[0])
    flags = [flag for word in words[1:] for flag in _flags_of(word)]
    return Shebang(True, frozenset(flags), code[len(line) :])


def _flags_of(word: bytes) -> list[str]:
    if not word.startswith(b"flags="):
        raise CommandError(b"ERR Unknown lua shebang option: %b" % word)
    names = word[6:].split(b",") if word[6:] else []
    for name in names:
        if name.decode("latin-1") not in FLAGS:
            raise CommandError(b"ERR Unexpected flag in script shebang: %b" % name)
    return [name.decode() for name in names]


def library_shebang(code: bytes) -> tuple[bytes, bytes, bytes]:
    """(engine, name, the rest with the line's end) of a library."""
    if not code.startswith(b"#!"):
        raise CommandError(b"ERR Missing library metadata")
    line, newline, _ = code.partition(b"\n")
    words = split_words(line)
    if not newline or not words:
        raise CommandError(b"ERR Invalid library metadata")
    name = None
    for word in words[1:]:
        if word[:5].lower() != b"name=":
            raise CommandError(b"ERR Invalid metadata value given: %b" % word)
        if name is not None:
            raise CommandError(
                b"ERR Invalid metadata value, name argument was given multiple times"
            )
        name = word[5:]
    if name is None:
        raise CommandError(b"ERR Library name was not given")
    return words[0][2:], name, code[len(line) :]
