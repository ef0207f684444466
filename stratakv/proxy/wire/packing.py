"""Commands as requests: what is sent to replicas and to a master."""

from collections.abc import Callable, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from stratakv.proxy.wire.encoding import ARRAY_HEADS, BULK_HEADS, CRLF

Pack = Callable[[list[Sequence[bytes]], int, int], tuple[bytes, int]]


def _find_pack() -> Pack | None:
    """The packer in C, if it was compiled."""
    try:
        from stratakv.proxy.wire import _pack
    except ImportError:
        return None
    return _pack.pack


PACK: Final = _find_pack()
LARGE: Final = 64 << 10
"""An argument of more bytes is not copied."""
MANY: Final = 1000
"""Words of a command that are packed at one go."""
_SHORT: Final = [len(head) + len(CRLF) for head in BULK_HEADS]
"""What a short word costs besides its bytes."""


@mypyc_attr(native_class=False)  # mypyc has no lists of its own
class Packed(list[bytes]):
    """A command that is packed already, in pieces; it stands where its words would."""

    __slots__ = ()


def pack(words: Sequence[bytes], out: list[bytes]) -> None:
    """Add a command to `out`, in few pieces; a large argument is one by itself."""
    if type(words) is Packed:
        out += words
        return
    count = len(words)
    parts = [ARRAY_HEADS[count] if count < 1024 else b"*%d\r\n" % count]
    _pack_words(words, parts, out)
    out.append(b"".join(parts))


def pack_all(commands: list[Sequence[bytes]], out: list[bytes]) -> None:
    """Add commands to `out`, in few pieces: 0.1 us each where the packer in C is there."""
    at = 0
    while at < len(commands):
        if PACK is not None:
            packed, at = PACK(commands, at, LARGE)
            if packed:
                out.append(packed)
        if at < len(commands):
            pack(commands[at], out)
            at += 1


class Packing:
    """A command of very many words that is packed step by step."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self._words = words
        self._at = 0

    def step(self, out: list[bytes]) -> bool:
        """Pack some more of it; says whether that was all."""
        parts = [] if self._at else [b"*%d\r\n" % len(self._words)]
        _pack_words(self._words[self._at : self._at + MANY], parts, out)
        out.append(b"".join(parts))
        self._at += MANY
        return self._at >= len(self._words)


def pack_slowly(words: Sequence[bytes], pause_if_due: Callable[[], None]) -> Packed:
    """A command that is packed already; others are served meanwhile."""
    packed, steps = Packed(), Packing(words)
    while not steps.step(packed):
        pause_if_due()
    return packed


def _pack_words(words: Sequence[bytes], parts: list[bytes], out: list[bytes]) -> None:
    for word in words:
        size = len(word)
        parts.append(BULK_HEADS[size] if size < 1024 else b"$%d\r\n" % size)
        if size > LARGE:
            out += (b"".join(parts), word)
            parts[:] = [CRLF]
        else:
            parts += (word, CRLF)


def request(*words: bytes) -> bytes:
    """A short command in one piece."""
    out: list[bytes] = []
    pack(words, out)
    return b"".join(out)


def packed_size(words: Sequence[bytes]) -> int:
    """How many bytes a command takes."""
    sizes = list(map(len, words))
    if max(sizes, default=0) < 1024:
        heads = sum(map(_SHORT.__getitem__, sizes))
    else:
        heads = sum(len(b"$%d\r\n\r\n" % size) for size in sizes)
    return len(b"*%d\r\n" % len(words)) + heads + sum(sizes)


def joined(chunks: list[bytes]) -> list[bytes]:
    """The same bytes in fewer pieces."""
    found: list[bytes] = []
    small: list[bytes] = []
    for chunk in chunks:
        if len(chunk) <= LARGE:
            small.append(chunk)
            continue
        found += (b"".join(small), chunk) if small else (chunk,)
        small = []
    return [*found, b"".join(small)] if small else found
