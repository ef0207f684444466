"""Arrays of bulk strings as bytes; see _pack.c."""

from collections.abc import Sequence

def pack(commands: list[Sequence[bytes]], start: int, large: int, /) -> tuple[bytes, int]:
    """The bytes of the plain commands from a place on, and the place of the next one."""

def array(items: Sequence[object], also: type[bytes], /) -> bytes | None:
    """The bytes of a plain reply; None if it is not plain."""
