"""LZF, the compression of strings in Redis's dumps: reading only.

000nnnnn                     n + 1 literal bytes follow
lllooooo oooooooo            l + 2 bytes from o + 1 bytes back                   l of 1 to 6
111ooooo llllllll oooooooo   l + 9 bytes from o + 1 bytes back
"""

from collections.abc import Callable
from typing import Final

_LITERALS: Final = 32
_BREATHE_EVERY: Final = 512


def decompress(data: bytes, size: int, pause_if_due: Callable[[], None]) -> bytes | None:
    """The `size` bytes that the data stands for; None if it does not stand for so many."""
    out = bytearray()
    at = steps = 0
    try:
        while at < len(data) and len(out) <= size:
            control = data[at]
            at += 1
            if control < _LITERALS:
                out += data[at : at + control + 1]
                at += control + 1
            else:
                at = _copy(out, data, at, control)
            steps += 1
            if not steps % _BREATHE_EVERY:
                pause_if_due()
    except (IndexError, ValueError):
        return None
    return bytes(out) if len(out) == size and at == len(data) else None


def _copy(out: bytearray, data: bytes, at: int, control: int) -> int:
    """Repeat some of what is there; returns where to read on."""
    length = control >> 5
    if length == 7:
        length += data[at]
        at += 1
    length += 2
    start = len(out) - ((control & 31) << 8 | data[at]) - 1
    if start < 0:
        raise ValueError
    piece = out[start : start + length]
    while len(piece) < length:  # it overlaps what it makes
        piece += piece[: length - len(piece)]
    out += piece
    return at + 1
