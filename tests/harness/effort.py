"""How hard the tests try: one scale for whatever is repeated at random.

STRATAKV_EFFORT is `quick`, `normal` (when it is not set) or `full`; a number is a multiple of
`full`, for a run over night. What follows the scale is marked `effort`.
"""

from __future__ import annotations

import os
from typing import Final, TypeVar

T = TypeVar("T")

_SHARES: Final = {"quick": 0.05, "normal": 0.1, "full": 1.0}
EFFORT: Final = os.environ.get("STRATAKV_EFFORT") or "normal"
_SHARE: Final = _SHARES[EFFORT] if EFFORT in _SHARES else float(EFFORT)


def rounds(full: int, least: int = 1) -> int:
    """How often to try what is tried `full` times at full effort."""
    return max(least, round(full * _SHARE))


def seconds(full: float, least: float = 0.5) -> float:
    """How long to go on with what goes on for so long at full effort."""
    return max(least, full * _SHARE)


def part(items: list[T], turn: int) -> list[T]:
    """All items at full effort; else every so many of them, others in another turn."""
    step = max(1, round(1 / _SHARE))
    return items[turn % step :: step]
