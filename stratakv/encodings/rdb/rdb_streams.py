"""Streams in dump payloads. See payloads.py for lengths and strings, packed.py for listpacks.

    stream    = length of nodes | (string of id16 | string of a listpack) ...
                | length entries | id last | id first | id max-deleted | length added
                | length of groups | group ...
    group     = string name | id last | length entries-read
                | length of pending | (id16 | i64 delivered-ms | length deliveries) ...
                | length of consumers | consumer ...
    consumer  = string name | i64 seen-ms | length of pending | id16 ...
    id        = length ms | length seq

    type 15 lacks first, max-deleted, added and entries-read
    type 21 has an i64 active-ms after a consumer's seen-ms

The listpack of a node holds entries behind the node's id, which ids of entries are relative to:

    live | deleted | fields | field ... | 0 | entry ...
    entry     = flags | ms | seq | value ... | pieces                  if the fields are the node's
              = flags | ms | seq | fields | (field | value) ... | pieces
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.rdb import packed
from stratakv.encodings.rdb.packed import Malformed
from stratakv.encodings.rdb.parts import PayloadReader, encode_length, encode_string
from stratakv.encodings.rdb.payloads import STREAM, STREAM_OLD, STREAM_SEEN
from stratakv.encodings.types.streams import stream_groups, streams
from stratakv.encodings.types.streams.stream_groups import Group, Pending
from stratakv.encodings.types.streams.streams import SEQ, State

_DELETED, _SAME_FIELDS = 1, 2
_NODE_ENTRIES: Final = 100
_NODE_BYTES: Final = 4096
_ID_BYTES: Final = 16
_BREATHE_EVERY: Final = 64
_PENDING_KEPT: Final = 10_000
"""So many pending entries of a group are kept until their consumers are known: some 3 MB."""

Entry = tuple[int, list[bytes]]


# writing


def written(txn: Txn, key: bytes, meta: Meta) -> tuple[int, Iterator[bytes]]:
    """Type and parts of a stream."""
    state = streams.decode_state(meta)
    counts = _encode_ids(state.first, state.max_deleted) + encode_length(state.added)
    return STREAM, _stream(txn, key, meta, state, counts)


def written_as_old(txn: Txn, key: bytes, meta: Meta) -> tuple[int, Iterator[bytes]]:
    """Type and parts of a stream for a Redis that does not count what is added and read."""
    return STREAM_OLD, _stream(txn, key, meta, streams.decode_state(meta), None)


def _stream(
    txn: Txn, key: bytes, meta: Meta, state: State, counts: bytes | None
) -> Iterator[bytes]:
    """The entries are read twice: how many nodes they fill comes before the nodes."""
    txn.expect_work(2 * state.length)
    yield encode_length(sum(1 for _ in _nodes(streams.between(txn, key, meta))))
    for entries in _nodes(streams.between(txn, key, meta)):
        yield encode_string(_raw_id(entries[0][0])) + encode_string(_pack_node(entries))
        txn.pause_if_due()
    yield encode_length(state.length) + _encode_ids(state.last) + (counts or b"")
    yield encode_length(state.groups)
    for group in stream_groups.all_of(txn, key, meta):
        yield encode_string(group.name) + _encode_ids(group.last)
        yield b"" if counts is None else encode_length(group.read & SEQ)
        yield from _group(group)


def _nodes(found: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Entries in groups as large as Redis makes them."""
    node: list[Entry] = []
    size = 0
    for entry in found:
        grown = sum(map(len, entry[1]))
        if node and (len(node) == _NODE_ENTRIES or size + grown >= _NODE_BYTES):
            yield node
            node, size = [], 0
        node.append(entry)
        size += grown
    if node:
        yield node


def _pack_node(entries: list[Entry]) -> bytes:
    first, fields = entries[0][0], entries[0][1][::2]
    pieces = [b"%d" % len(entries), b"0", b"%d" % len(fields), *fields, b"0"]
    for number, pairs in entries:
        same = pairs[::2] == fields
        body = pairs[1::2] if same else [b"%d" % (len(pairs) // 2), *pairs]
        flags = _SAME_FIELDS if same else 0
        ms, seq = _signed((number >> 64) - (first >> 64)), _signed((number & SEQ) - (first & SEQ))
        pieces += [b"%d" % flags, b"%d" % ms, b"%d" % seq, *body, b"%d" % (len(body) + 3)]
    return packed.pack_listpack(pieces)


def _signed(difference: int) -> int:
    """As C keeps the difference of two u64 in an i64."""
    return (difference + (1 << 63) & SEQ) - (1 << 63)


def _group(group: Group) -> Iterator[bytes]:
    """What is pending, and the consumers."""
    yield encode_length(group.pending)
    for one in group.all_pending():
        yield _raw_id(one.id) + _raw_ms(one.delivered_ms) + encode_length(one.deliveries)
    yield encode_length(group.consumers)
    for consumer in group.all_consumers():
        yield encode_string(consumer.name) + _raw_ms(consumer.seen_ms)
        yield encode_length(consumer.pending)
        yield from map(_raw_id, group.ids_of(consumer))


def _raw_id(number: int) -> bytes:
    return number.to_bytes(_ID_BYTES, "big")


def _raw_ms(ms: int) -> bytes:
    return ms.to_bytes(8, "little", signed=True)


def _encode_ids(*ids: int) -> bytes:
    halves = (half for number in ids for half in (number >> 64, number & SEQ))
    return b"".join(map(encode_length, halves))


# reading


def restore(txn: Txn, key: bytes, reader: PayloadReader, kind: int) -> None:
    """Make the key the stream that follows. Raises `Malformed`."""
    meta = streams.create(txn, key)
    count, first, last = 0, 0, -1
    for number, fields in _read_nodes(reader):
        if number <= last:
            raise Malformed
        first = first if count else number
        count, last = count + 1, number
        txn.put(streams.entry_row(meta, number), streams.encode_fields(fields))
        if not count % _BREATHE_EVERY:
            txn.pause_if_due()
    state = _read_state(reader, kind, first)
    if state.length != count or state.last < last:
        raise Malformed
    txn.update(key, meta, streams.encode_state(state))
    for _ in range(reader.length()):
        _read_group(txn, key, reader, kind)


def _read_nodes(reader: PayloadReader) -> Iterator[Entry]:
    for _ in range(reader.length()):
        key = reader.string()
        if len(key) != _ID_BYTES:
            raise Malformed
        yield from _unpack_node(int.from_bytes(key), packed.listpack(reader.string()))


def _unpack_node(first: int, pieces: Iterator[bytes]) -> Iterator[Entry]:
    """The entries of a node that are not marked as deleted."""
    live, _, count = (_integer(piece) for piece in _take(pieces, 3))
    fields = _take(pieces, count)
    _take(pieces, 1)
    for flags in map(_integer, pieces):
        ms, seq = (_integer(piece) for piece in _take(pieces, 2))
        number = ((first >> 64) + ms & SEQ) << 64 | (first & SEQ) + seq & SEQ
        if flags & _SAME_FIELDS:
            values = _take(pieces, count)
            pairs = [piece for pair in zip(fields, values, strict=True) for piece in pair]
        else:
            pairs = _take(pieces, 2 * _integer(_take(pieces, 1)[0]))
        _take(pieces, 1)
        if not flags & _DELETED:
            live -= 1
            yield number, pairs
    if live:
        raise Malformed


def _take(pieces: Iterator[bytes], count: int) -> list[bytes]:
    if count < 0:
        raise Malformed
    taken = list(islice(pieces, count))
    if len(taken) < count:
        raise Malformed
    return taken


def _integer(piece: bytes) -> int:
    try:
        return int(piece)
    except ValueError:
        raise Malformed from None


def _read_state(reader: PayloadReader, kind: int, first: int) -> State:
    length, last = reader.length(), _read_id(reader)
    if kind == STREAM_OLD:
        return State(length, last, 0, length, first, 0, 0)
    _read_id(reader)  # the first id, which we have seen
    return State(length, last, _read_id(reader), reader.length(), first, 0, 0)


def _read_group(txn: Txn, key: bytes, reader: PayloadReader, kind: int) -> None:
    meta = txn.find(key)
    assert meta is not None
    name, last = reader.string(), _read_id(reader)
    if kind == STREAM_OLD:
        read = stream_groups.entries_up_to(streams.decode_state(meta), last)
    else:
        read = _signed(reader.length())
    if not stream_groups.create(txn, key, meta, name, last, read):
        raise Malformed
    group = stream_groups.find_in(txn, key, meta, name)
    assert group is not None
    count = reader.length()
    pending = _Kept() if count <= _PENDING_KEPT else _Announced(group)
    for number in range(count):
        pending.add(_read_raw_id(reader), _read_ms(reader), reader.length())
        if not number % _BREATHE_EVERY:
            txn.pause_if_due()
    for _ in range(reader.length()):
        _read_consumer(group, reader, pending, kind)
        txn.pause_if_due()
    if pending.left:
        raise Malformed
    group.save()


class _Deliveries(Protocol):
    """When and how often each pending entry was delivered, until a consumer claims it."""

    left: int

    def add(self, number: int, delivered_ms: int, deliveries: int) -> None: ...

    def take(self, number: int) -> tuple[int, int]: ...


class _Kept:
    """Few, in memory."""

    def __init__(self) -> None:
        self.left = 0
        self._found: dict[int, tuple[int, int]] = {}

    def add(self, number: int, delivered_ms: int, deliveries: int) -> None:
        if number in self._found:
            raise Malformed
        self._found[number] = delivered_ms, deliveries
        self.left += 1

    def take(self, number: int) -> tuple[int, int]:
        delivery = self._found.pop(number, None)
        if delivery is None:
            raise Malformed
        self.left -= 1
        return delivery


class _Announced:
    """Many, in rows; they come in the order of their ids."""

    def __init__(self, group: Group) -> None:
        self.left = 0
        self._group = group
        self._last = -1

    def add(self, number: int, delivered_ms: int, deliveries: int) -> None:
        if number <= self._last:
            raise Malformed
        self._last = number
        self._group.announce(number, delivered_ms, deliveries)
        self.left += 1

    def take(self, number: int) -> tuple[int, int]:
        found = self._group.find_announced(number)
        if found is None:
            raise Malformed
        self.left -= 1
        return found.delivered_ms, found.deliveries


def _read_consumer(group: Group, reader: PayloadReader, pending: _Deliveries, kind: int) -> None:
    name, seen_ms = reader.string(), _read_ms(reader)
    if kind == STREAM_SEEN:
        _read_ms(reader)
    if not group.add_consumer(name):
        raise Malformed
    consumer = group.find_consumer(name)
    assert consumer is not None
    consumer.seen_ms = seen_ms
    for _ in range(reader.length()):
        number = _read_raw_id(reader)
        group.assign(None, Pending(number, name, *pending.take(number)))


def _read_id(reader: PayloadReader) -> int:
    return reader.length() << 64 | reader.length()


def _read_raw_id(reader: PayloadReader) -> int:
    return int.from_bytes(reader.take(_ID_BYTES))


def _read_ms(reader: PayloadReader) -> int:
    return int.from_bytes(reader.take(8), "little", signed=True)
