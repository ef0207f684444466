"""A syntax line as the tree of arguments that COMMAND DOCS gives and redis-cli shows as hints.

    SET key value [NX|XX] [EX seconds|PX milliseconds|KEEPTTL]

A word in capitals is a token; it belongs to the arguments that follow it within its brackets.
`[...]` is optional, `a|b` is a choice, `...` repeats what stands before it.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Final

_PIECES = re.compile(r"\.\.\.|[\[\]<>|]|[^\s\[\]<>|]+")
_CLOSING: Final = {"[": "]", "<": ">"}
_NUMBERS: Final = """
    seconds milliseconds count index index1 index2 offset start stop end numkeys limit cursor
    increment decrement timeout db destination-db bit len min-match-len client-id protover
    numreplicas size version numfields"""
_INTEGERS: Final = frozenset(_NUMBERS.split())
_TIMES: Final = frozenset({"unix-time-seconds", "unix-time-milliseconds"})
_KEYS: Final = frozenset({"key", "key1", "key2", "destkey", "newkey", "dst", "src"}) | {
    "source",
    "destination",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """A node of the tree. `kind` is one of Redis's words: key, integer, oneof, block, ..."""

    name: str
    kind: str
    token: str = ""
    optional: bool = False
    multiple: bool = False
    repeats_token: bool = False
    parts: tuple["Argument", ...] = field(default=())


def arguments(syntax: str, depth: int) -> list[Argument]:
    """The arguments of a syntax line, without its first `depth` words."""
    rest = " ".join(syntax.split()[depth:])
    pieces = _PIECES.findall(rest)
    found, _ = _choice(pieces, 0, "")
    return found[0] if len(found) == 1 else [_one_of(found)]


def _choice(pieces: list[str], at: int, closing: str) -> tuple[list[list[Argument]], int]:
    """Alternatives up to the closing bracket, each a sequence."""
    alternatives: list[list[Argument]] = [[]]
    while at < len(pieces) and pieces[at] != closing:
        piece = pieces[at]
        at += 1
        current = alternatives[-1]
        if piece == "|":
            alternatives.append([])
        elif piece == "...":
            current[:] = [_repeated(current)] if current else []
        elif piece in _CLOSING:
            inner, at = _choice(pieces, at, _CLOSING[piece])
            current.append(_bracket(inner, optional=piece == "["))
            at += 1
        else:
            current.append(_word(piece))
    return [_attach_tokens(_fold(one)) for one in alternatives], at


def _repeated(parts: list[Argument]) -> Argument:
    whole = _block(_attach_tokens(parts))
    return replace(whole, multiple=True, repeats_token=bool(whole.token))


def _word(piece: str) -> Argument:
    name = piece.lower()
    if piece.isupper():
        return Argument(name, "pure-token", token=piece)
    if name in _KEYS:
        return Argument(name, "key")
    if name in _INTEGERS:
        return Argument(name, "integer")
    if name in _TIMES:
        return Argument(name, "unix-time")
    kinds = {"pattern": "pattern", "score": "double"}
    return Argument(name, kinds.get(name, "string"))


def _attach_tokens(parts: list[Argument]) -> list[Argument]:
    """`LIMIT offset count` is one argument with a token, made of two."""
    if len(parts) < 2 or parts[0].kind != "pure-token":
        return parts
    values = [part for part in parts[1:] if part.kind != "pure-token"]
    if len(values) != len(parts) - 1:
        return parts
    inner = values[0] if len(values) == 1 else Argument(parts[0].name, "block", parts=tuple(values))
    return [inner if inner.token else replace(inner, token=parts[0].token)]


def _bracket(alternatives: list[list[Argument]], *, optional: bool) -> Argument:
    inner = _block(alternatives[0]) if len(alternatives) == 1 else _one_of(alternatives)
    return replace(inner, optional=optional or inner.optional)


def _block(parts: list[Argument]) -> Argument:
    if len(parts) == 1:
        return parts[0]
    return Argument(parts[0].name if parts else "argument", "block", parts=tuple(parts))


def _one_of(alternatives: list[list[Argument]]) -> Argument:
    parts = tuple(_block(one) for one in alternatives)
    return Argument("-".join(part.name for part in parts[:2]), "oneof", parts=parts)


def _fold(parts: list[Argument]) -> list[Argument]:
    """`key [key ...]` is one argument that may be given several times."""
    folded: list[Argument] = []
    for part in parts:
        once = replace(part, optional=False, multiple=False, repeats_token=False)
        size = (len(part.parts) or 1) + bool(part.token)
        before = folded[-size:]
        if part.multiple and part.optional and before and _block(_attach_tokens(before)) == once:
            folded[-size:] = [replace(part, optional=False)]
        else:
            folded.append(part)
    return folded
