"""The arguments that LMPOP, ZMPOP and their blocking forms have in common."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.proxy.arguments.args import INT64_MAX, Args, ranged

LEFT: Final = b"LEFT"
MAX: Final = b"MAX"
ENDS: Final = (LEFT, b"RIGHT")
EXTREMES: Final = (b"MIN", MAX)


class PopOptions(NamedTuple):
    """The keys, the side in upper case, and the number of elements wanted."""

    keys: list[bytes]
    side: bytes
    wanted: int


def pop_options(arguments: Sequence[bytes], sides: tuple[bytes, bytes]) -> PopOptions:
    """Read `numkeys key [key ...] <side> [COUNT count]`."""
    args = Args(arguments)
    number = ranged(args.take(), 1, INT64_MAX, errors.NUMKEYS)
    if number >= len(args):
        raise errors.syntax()
    keys = [args.take() for _ in range(number)]
    side = args.option()
    if side not in sides:
        raise errors.syntax()
    wanted = 1
    if args.accept(b"COUNT"):
        wanted = ranged(args.take(), 1, INT64_MAX, errors.COUNT)
    args.finish()
    return PopOptions(keys, side, wanted)
