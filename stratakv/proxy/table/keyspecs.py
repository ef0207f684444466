"""Key specifications: where the keys of a command stand, and what it does with them."""

from collections.abc import Sequence
from typing import NamedTuple


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
