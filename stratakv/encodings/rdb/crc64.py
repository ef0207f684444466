"""The CRC of Redis's dumps: 64 bits, Jones's polynomial, bits reflected, no inversion."""

from collections.abc import Callable
from typing import Final

import anycrc

_calculate: Final = anycrc.Model("CRC64-REDIS").calc
_PIECE_BYTES: Final = 1 << 18
"""Well below a millisecond, also on a processor that cannot multiply without carries."""


def _nothing() -> None:
    """No pause."""


def crc64(
    data: bytes | bytearray | memoryview, pause_if_due: Callable[[], None] = _nothing, crc: int = 0
) -> int:
    """The CRC of all the bytes; `pause_if_due` is called before every piece but the first.

    `crc` is that of what came before them.
    """
    crc = _calculate(data[:_PIECE_BYTES], crc)
    for at in range(_PIECE_BYTES, len(data), _PIECE_BYTES):
        pause_if_due()
        crc = _calculate(data[at : at + _PIECE_BYTES], crc)
    return crc
