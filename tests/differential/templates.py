"""A command template is one line of text; it becomes a Hypothesis strategy of argument lists.

    UPPER         the word itself, in upper or lower case        lower     a word of that alphabet
    'text         the text as it stands                          [ x ]     x or nothing
    { x | y }     one of them                                    x...      x one to three times
    !LINE         the line is never mutated

Example: `ZADD key [NX|XX] [GT|LT] [CH] [INCR] {score member}...`
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hypothesis import strategies as st

from tests.differential.alphabets import ALPHABETS, JUNK

Args = tuple[bytes, ...]
ArgsStrategy = st.SearchStrategy[Args]

_TOKEN = re.compile(r"\.\.\.|[\[\]{}|]|[^\s\[\]{}|]+?(?=\.\.\.)|[^\s\[\]{}|]+")
_CLOSING = {"[": "]", "{": "}"}


def command(line: str) -> ArgsStrategy:
    """The strategy of one template line, wrong calls included unless the line begins with `!`."""
    tokens = _TOKEN.findall(line.removeprefix("!"))
    strategy = _choice(tokens, "")
    if tokens:
        raise ValueError(f"unbalanced {tokens[0]!r} in template {line!r}")
    return strategy if line.startswith("!") else _mutated(strategy)


def commands(table: str) -> list[ArgsStrategy]:
    """The strategies of a table, one line per command form; blank lines and `# remarks` are
    skipped.
    """
    return [command(line) for line in lines(table)]


def lines(table: str) -> list[str]:
    stripped = (line.strip() for line in table.splitlines())
    return [line for line in stripped if line and not line.startswith("# ")]


def _choice(tokens: list[str], end: str) -> ArgsStrategy:
    branches = [_sequence(tokens, end)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        branches.append(_sequence(tokens, end))
    return branches[0] if len(branches) == 1 else st.sampled_from(branches).flatmap(lambda one: one)


def _sequence(tokens: list[str], end: str) -> ArgsStrategy:
    parts: list[ArgsStrategy] = []
    while tokens and tokens[0] not in ("|", end):
        parts.append(_item(tokens))
    return st.tuples(*parts).map(_joined)


def _item(tokens: list[str]) -> ArgsStrategy:
    token = tokens.pop(0)
    item = _group(token, tokens) if token in _CLOSING else _word(token)
    if tokens and tokens[0] == "...":
        tokens.pop(0)
        return st.lists(item, min_size=1, max_size=3).map(_joined)
    return item


def _group(opening: str, tokens: list[str]) -> ArgsStrategy:
    inside = _choice(tokens, _CLOSING[opening])
    tokens.pop(0)
    return (
        inside
        if opening == "{"
        else st.booleans().flatmap(lambda on: inside if on else st.just(()))
    )


def _word(token: str) -> ArgsStrategy:
    if token.startswith("'"):
        return st.just((token[1:].encode(),))
    if token in ALPHABETS:
        return st.sampled_from([(word,) for word in ALPHABETS[token].weighted()])
    if token != token.upper():
        raise ValueError(f"no alphabet is called {token!r}")
    return st.sampled_from([(token.encode(),), (token.lower().encode(),)])


def _joined(parts: Iterable[Args]) -> Args:
    return tuple(arg for part in parts for arg in part)


@st.composite
def _mutated(draw: st.DrawFn, valid: ArgsStrategy) -> Args:
    """One call in eight is spoilt: an argument dropped, doubled, replaced by junk, or junk
    appended.
    """
    args = draw(valid)
    how = draw(st.integers(0, 31))
    if how < 28:
        return args
    place = draw(st.integers(1, len(args)))
    junk = (draw(st.sampled_from(JUNK)),)
    spoilt = [
        args[:place] + args[place + 1 :],
        args[:place] + args[place : place + 1] + args[place:],
    ]
    spoilt += [args[:place] + junk + args[place + 1 :], args + junk]
    return spoilt[how - 28]
