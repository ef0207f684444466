"""Past the objects of a dump, without a look into them. See payloads.py and rdb_streams.py."""

from collections.abc import Callable
from functools import partial
from typing import Final

from stratakv.encodings.rdb import payloads
from stratakv.encodings.rdb.chunk_reader import ChunkReader
from stratakv.encodings.rdb.packed import Malformed

_NOT_NUMBERS: Final = 253
"""A size of a score from here on stands for the score itself."""
_ID_BYTES: Final = 16


def skip_object(reader: ChunkReader, kind: int) -> None:
    """Read past an object of that type. Raises `Malformed`."""
    skip = _SKIPPERS.get(kind)
    if skip is None:
        raise Malformed
    skip(reader)


def skip_lengths(reader: ChunkReader, count: int) -> None:
    """Read past so many lengths."""
    for _ in range(count):
        reader.length()


def _strings(each: int, reader: ChunkReader) -> None:
    for _ in range(each * reader.length()):
        reader.skip_string()


def _scores(reader: ChunkReader) -> None:
    for _ in range(reader.length()):
        reader.skip_string()
        reader.skip(8)


def _text_scores(reader: ChunkReader) -> None:
    for _ in range(reader.length()):
        reader.skip_string()
        size = reader.byte()
        reader.skip(0 if size >= _NOT_NUMBERS else size)


def _nodes(reader: ChunkReader) -> None:
    for _ in range(reader.length()):
        reader.length()
        reader.skip_string()


def _timed_hash(reader: ChunkReader) -> None:
    reader.skip(8)
    for _ in range(reader.length()):
        reader.length()
        reader.skip_string()
        reader.skip_string()


def _packed_timed_hash(reader: ChunkReader) -> None:
    reader.skip(8)
    reader.skip_string()


def _stream(kind: int, reader: ChunkReader) -> None:
    _strings(2, reader)
    skip_lengths(reader, 3 if kind == payloads.STREAM_OLD else 8)
    for _ in range(reader.length()):
        reader.skip_string()
        skip_lengths(reader, 2 if kind == payloads.STREAM_OLD else 3)
        for _ in range(reader.length()):
            reader.skip(_ID_BYTES + 8)
            reader.length()
        for _ in range(reader.length()):
            reader.skip_string()
            reader.skip(16 if kind == payloads.STREAM_SEEN else 8)
            reader.skip(_ID_BYTES * reader.length())


_PACKED: Final = (
    payloads.STRING,
    payloads.HASH_ZIPMAP,
    payloads.LIST_ZIPLIST,
    payloads.SET_INTSET,
    payloads.ZSET_ZIPLIST,
    payloads.HASH_ZIPLIST,
    payloads.HASH_LISTPACK,
    payloads.ZSET_LISTPACK,
    payloads.SET_LISTPACK,
)
"""Types whose object is one string."""

_SKIPPERS: Final[dict[int, Callable[[ChunkReader], None]]] = {
    **dict.fromkeys(_PACKED, ChunkReader.skip_string),
    payloads.LIST: partial(_strings, 1),
    payloads.SET: partial(_strings, 1),
    payloads.HASH: partial(_strings, 2),
    payloads.ZSET: _scores,
    payloads.ZSET_TEXT: _text_scores,
    payloads.LIST_ZIPLISTS: partial(_strings, 1),
    payloads.LIST_NODES: _nodes,
    payloads.HASH_TIMES: _timed_hash,
    payloads.HASH_LISTPACK_TIMES: _packed_timed_hash,
    **{kind: partial(_stream, kind) for kind in payloads.STREAMS},
}
