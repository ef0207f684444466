"""Key specifications: where the keys of a command stand, and what it does with them."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from stratakv.encodings.layout.numbers import parse_int

KeyUse = tuple[int, Sequence[str]]
"""Where a key stands in a request, and what is done with it, in Redis's words."""

_LEADING_NUMBER: Final = re.compile(rb"[ \t\n\v\f\r]*([+-]?[0-9]+)")


class KeySpec(NamedTuple):
    """Where some of a command's keys stand: from `begin`, as a range or after their number."""

    flags: tuple[str, ...]
    """Redis's words: RO, RW, OW or RM, then access, update, insert, delete, ..."""
    begin: int = 0
    find: str = "range"
    """`range`, `keynum` where the argument at `begin` says how many keys follow, or `unknown`."""
    last: int = 0
    step: int = 1
    notes: str = ""
    keyword: str = ""
    """The word that the keys follow, looked for from `begin`, where they have no fixed place."""
    limit: int = 0


def from_positions(
    words: Sequence[str], keys: tuple[int, int, int], flags: str, notes: str
) -> tuple[KeySpec, ...]:
    """The specifications of a command by the words of its syntax and (first, last, step).

    `flags` has a part for each, with commas between them: of two, the first is that of the first
    key alone. Keys behind the word `numkeys` are as many as it says.
    """
    first, last, step = keys
    parts = [tuple(part.split()) for part in flags.split(",")]
    specs = []
    if "numkeys" in words:
        if first:
            specs.append(KeySpec(parts[0], first))
        specs.append(KeySpec(parts[-1], words.index("numkeys"), "keynum", notes=notes))
        return tuple(specs)
    if len(parts) > 1:
        specs.append(KeySpec(parts[0], first, notes=notes))
        first += 1
    reach = last - first if last > 0 else last
    specs.append(KeySpec(parts[-1], first, "range", reach, step, notes))
    return tuple(specs)


def find_uses(specs: Sequence[KeySpec], request: Sequence[bytes]) -> list[KeyUse] | None:
    """The keys of a request as the specifications tell them; None if they cannot."""
    found: list[KeyUse] = []
    for spec in specs:
        if "not_key" in spec.flags:
            continue
        places = _places(spec, request)
        if places is None or "incomplete" in spec.flags:
            return None
        found += [(at, spec.flags) for at in places]
    return found


def _places(spec: KeySpec, request: Sequence[bytes]) -> range | None:
    """Where the keys of one specification stand; None where the request does not have them all."""
    if spec.find == "unknown":
        return None
    count = len(request)
    first = spec.begin
    if spec.keyword:
        first = _behind_keyword(spec, request)
        if not first:
            return range(0)
    if spec.find == "keynum":
        number = parse_int(request[first])
        if number is None or number < 0:
            return None
        first += 1
        last = first + number - 1
    elif spec.last >= 0:
        last = first + spec.last
    elif spec.limit:
        last = first + (count - first) // spec.limit + spec.last
    else:
        last = count + spec.last
    return range(first, last + 1, spec.step) if first <= last < count else None


def _behind_keyword(spec: KeySpec, request: Sequence[bytes]) -> int:
    """Where a specification's keys begin, 0 without its word; the last argument is none."""
    word = spec.keyword.lower().encode()
    for at in range(spec.begin, len(request) - 1):
        if request[at].lower() == word:
            return at + 1
    return 0


def find_loosely_numbered(specs: Sequence[KeySpec], request: Sequence[bytes]) -> list[KeyUse]:
    """The keys behind a number that only begins like one, as Redis's own finders see them.

    The command will refuse such a request, but not before it is known who may send it.
    """
    numbered = specs[-1] if specs else None
    if numbered is None or numbered.find != "keynum":
        return []
    found = _LEADING_NUMBER.match(request[numbered.begin])
    number = int(found[1]) if found else 0
    first = numbered.begin + 1
    if not 0 < number <= len(request) - first:
        return []
    places = [*range(first, first + number), *(spec.begin for spec in specs[:-1])]
    return [(at, ()) for at in places]
