"""How many bytes a key takes in the store: its meta and its rows, before compression."""

from collections.abc import Iterable

from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.types.strings import strings


def stored_bytes(txn: Txn, key: bytes, samples: int) -> int | None:
    """The bytes of a key, None if there is none; collections are judged by `samples` rows, 0 all.

    A collection without a count in its meta is always read whole.
    """
    meta = txn.find(key)
    if meta is None:
        return None
    size = len(meta.row) + len(metas.encode(meta) or b"")
    if meta.type == metas.STRING:
        return size + (strings.length(meta) if meta.sub else 0)
    count = _count(meta)
    limit = samples if samples and count is not None else UNLIMITED
    for prefix in (meta.sub, meta.order, meta.index):
        size += _estimate(txn.scan(prefix, rows.end_of(prefix), limit=limit), count, limit)
    return size


def _count(meta: Meta) -> int | None:
    if isinstance(meta.extra, tuple):
        return meta.extra[1] - meta.extra[0]
    return meta.extra if isinstance(meta.extra, int) else None


def _estimate(found: Iterable[tuple[bytes, bytes]], count: int | None, limit: int) -> int:
    """The bytes of `count` rows like those that were found; of just those if there are no more."""
    seen = size = 0
    for row, value in found:
        seen += 1
        size += len(row) + len(value)
    if seen < limit or count is None:
        return size
    return size * count // seen
