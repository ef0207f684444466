"""Consumer groups of streams: who has read how far, and what nobody has acknowledged yet.

The rows of a group stand among those of its stream (see streams.py for id16 and name):

    "s#" | path | 0x01 | group
        -> id16 last | i64 entries-read | u64 pending | id16 first pending | u32 consumers
    "s#" | path | 0x02 | name group | consumer
        -> i64 seen-ms | u64 pending
    "s#" | path | 0x03 | name group | id16
        -> i64 delivered-ms | u64 deliveries | consumer
    "s#" | path | 0x04 | name group | name consumer | id16
        -> empty

Invariants
1. The stream's state counts the 0x01 rows; a group counts its 0x02 rows and its 0x03 rows, a
   consumer the 0x04 rows of its own.
2. A pending entry is one 0x03 row and one 0x04 row of the consumer that the former names, and that
   consumer has a 0x02 row.
3. `first pending` is the id of the group's first 0x03 row, 0-0 if there is none. So a walk never
   begins among the rows of what was acknowledged.
4. A pending entry may outlive its entry in the stream.
5. `entries-read` is -1 where it cannot be told.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import STREAM, Meta
from stratakv.encodings.types.streams import streams
from stratakv.encodings.types.streams.streams import MAX_ID, Entry, State
from stratakv.errors import Corrupt

GROUPS, CONSUMERS, PENDING, OWNED = b"\x01", b"\x02", b"\x03", b"\x04"
UNKNOWN: Final = -1
"""How many entries a group has read, where that cannot be told."""

_GROUP = struct.Struct(">16sqQ16sI")
_CONSUMER = struct.Struct(">qQ")
_PENDING_HEAD = struct.Struct(">qQ")


class Pending(NamedTuple):
    """An entry that was delivered and not acknowledged."""

    id: int
    consumer: bytes
    delivered_ms: int
    deliveries: int


class Consumer:
    """A consumer at work."""

    __slots__ = ("name", "pending", "seen_ms")

    def __init__(self, name: bytes, seen_ms: int, pending: int) -> None:
        self.name = name
        self.seen_ms = seen_ms
        self.pending = pending


class GroupFacts(NamedTuple):
    """A group's row."""

    last: int
    read: int
    pending: int
    first: int
    consumers: int


# layout


def encode_group(facts: GroupFacts) -> bytes:
    """The value of a group's row."""
    last, read, pending, first, consumers = facts
    return _GROUP.pack(
        last.to_bytes(16, "big"), read, pending, first.to_bytes(16, "big"), consumers
    )


def decode_group(key: bytes, raw: bytes) -> GroupFacts:
    """A group, out of its row."""
    if len(raw) != _GROUP.size:
        raise Corrupt(key, "a consumer group has the wrong length")
    last, read, pending, first, consumers = _GROUP.unpack(raw)
    return GroupFacts(int.from_bytes(last), read, pending, int.from_bytes(first), consumers)


def decode_consumer(key: bytes, raw: bytes) -> tuple[int, int]:
    """(seen-ms, pending) of a consumer's row."""
    if len(raw) != _CONSUMER.size:
        raise Corrupt(key, "a consumer has the wrong length")
    seen_ms, pending = _CONSUMER.unpack(raw)
    return seen_ms, pending


def encode_consumer(seen_ms: int, pending: int) -> bytes:
    """The value of a consumer's row."""
    return _CONSUMER.pack(seen_ms, pending)


def decode_pending(key: bytes, number: int, raw: bytes) -> Pending:
    """A pending entry, out of its row."""
    if len(raw) < _PENDING_HEAD.size:
        raise Corrupt(key, "a pending entry has the wrong length")
    delivered_ms, deliveries = _PENDING_HEAD.unpack_from(raw)
    return Pending(number, raw[_PENDING_HEAD.size :], delivered_ms, deliveries)


def name_of(raw: bytes) -> bytes:
    """A name within a row: its length first, so that no name is the beginning of another."""
    return rows.U32.pack(len(raw)) + raw


class Group:
    """A consumer group at work: loaded by `find`, changed in memory, written by `save`."""

    __slots__ = (
        "_consumers",
        "_first_gone",
        "_owned",
        "_pending",
        "_sub",
        "consumers",
        "first",
        "key",
        "last",
        "name",
        "pending",
        "read",
        "txn",
    )

    def __init__(self, txn: Txn, key: bytes, meta: Meta, name: bytes, facts: GroupFacts) -> None:
        self.txn = txn
        self.key = key
        self.name = name
        self.last, self.read, self.pending, self.first, self.consumers = facts
        self._sub = meta.sub
        self._pending = meta.sub + PENDING + name_of(name)
        self._owned = meta.sub + OWNED + name_of(name)
        self._first_gone = False
        self._consumers: dict[bytes, Consumer | None] = {}

    def save(self) -> None:
        """Write the group and the consumers that were looked up."""
        if not self.pending:
            self.first = 0
        elif self._first_gone:
            bounds = streams.span(self._pending, self.first, MAX_ID)
            self.first = min(streams.id_of(row) for row in self.txn.scan_keys(*bounds, limit=1))
        self._first_gone = False
        facts = GroupFacts(self.last, self.read, self.pending, self.first, self.consumers)
        self.txn.put(self._sub + GROUPS + self.name, encode_group(facts))
        for consumer in self._consumers.values():
            if consumer is not None:
                raw = encode_consumer(consumer.seen_ms, consumer.pending)
                self.txn.put(self._consumer_row(consumer.name), raw)

    # consumers

    def _consumer_row(self, name: bytes) -> bytes:
        return self._sub + CONSUMERS + name_of(self.name) + name

    def find_consumer(self, name: bytes) -> Consumer | None:
        """A consumer, or None."""
        if name not in self._consumers:
            raw = self.txn.get(self._consumer_row(name))
            found = None if raw is None else Consumer(name, *decode_consumer(self.key, raw))
            self._consumers[name] = found
        return self._consumers[name]

    def add_consumer(self, name: bytes) -> bool:
        """Make a consumer; False if it is there already."""
        if self.find_consumer(name) is not None:
            return False
        self._consumers[name] = Consumer(name, self.txn.now_ms, 0)
        self.consumers += 1
        return True

    def see_consumer(self, name: bytes) -> Consumer:
        """The consumer has called: make it if need be, and note the time."""
        if self.add_consumer(name):
            self.txn.event("t", "xgroup-createconsumer", self.key)
        consumer = self.find_consumer(name)
        assert consumer is not None
        consumer.seen_ms = self.txn.now_ms
        return consumer

    def remove_consumer(self, name: bytes) -> int:
        """Delete a consumer and its pending entries; returns how many those were."""
        consumer = self.find_consumer(name)
        if consumer is None:
            return 0
        count = consumer.pending
        self.txn.expect_work(count)
        for number in list(self.ids_of(consumer)):
            self.remove(number, name)
        self.txn.delete(self._consumer_row(name))
        self._consumers[name] = None
        self.consumers -= 1
        return count

    def all_consumers(self) -> Iterator[Consumer]:
        """Every consumer, in the order of their names."""
        if not self.consumers:
            return
        prefix = self._consumer_row(b"")
        size = len(prefix)
        for row, raw in self.txn.scan(prefix, rows.end_of(prefix), limit=self.consumers):
            yield Consumer(row[size:], *decode_consumer(self.key, raw))

    # pending entries

    def find_pending(self, number: int) -> Pending | None:
        """A pending entry, or None."""
        raw = self.txn.get(self._pending + number.to_bytes(16, "big"))
        return None if raw is None else decode_pending(self.key, number, raw)

    def all_pending(
        self, first: int = 0, last: int = MAX_ID, *, limit: int = UNLIMITED
    ) -> Iterator[Pending]:
        """The pending entries of ids from `first` to `last`, both included."""
        first = max(first, self.first)
        if not self.pending or first > last:
            return
        bounds = streams.span(self._pending, first, last)
        for row, raw in self.txn.scan(*bounds, limit=min(limit, self.pending)):
            yield decode_pending(self.key, streams.id_of(row), raw)

    def ids_of(
        self, consumer: Consumer, first: int = 0, last: int = MAX_ID, *, limit: int = UNLIMITED
    ) -> Iterator[int]:
        """The ids that are pending with a consumer."""
        first = max(first, self.first)
        if not consumer.pending or first > last:
            return
        bounds = streams.span(self._owned + name_of(consumer.name), first, last)
        for row in self.txn.scan_keys(*bounds, limit=min(limit, consumer.pending)):
            yield streams.id_of(row)

    def pending_of(
        self, consumer: Consumer, first: int = 0, last: int = MAX_ID, *, limit: int = UNLIMITED
    ) -> Iterator[Pending]:
        """The pending entries of a consumer."""
        for number in self.ids_of(consumer, first, last, limit=limit):
            found = self.find_pending(number)
            if found is None:
                raise Corrupt(self.key, "a consumer owns what is not pending")
            yield found

    def last_pending(self) -> int:
        """The last pending id. Requires: there is one."""
        bounds = streams.span(self._pending, self.first, MAX_ID)
        return max(streams.id_of(row) for row in self.txn.scan_keys(*bounds, reverse=True, limit=1))

    def assign(self, old: Pending | None, new: Pending) -> None:
        """Make or change a pending entry, whose new consumer exists; `old` is what is there."""
        raw = new.id.to_bytes(16, "big")
        if old is None:
            self.pending += 1
            if self.pending == 1 or new.id < self.first:
                self.first, self._first_gone = new.id, False
        if old is None or old.consumer != new.consumer:
            if old is not None:
                self._disown(old.consumer, raw)
            self.txn.put(self._owned + name_of(new.consumer) + raw, b"")
            owner = self.find_consumer(new.consumer)
            assert owner is not None
            owner.pending += 1
        head = _PENDING_HEAD.pack(new.delivered_ms, new.deliveries)
        self.txn.put(self._pending + raw, head + new.consumer)

    def announce(self, number: int, delivered_ms: int, deliveries: int) -> None:
        """Write down an entry that is to be assigned to a consumer later; it does not count yet."""
        head = _PENDING_HEAD.pack(delivered_ms, deliveries)
        self.txn.put(self._pending + number.to_bytes(16, "big"), head)

    def find_announced(self, number: int) -> Pending | None:
        """An entry that was announced and not assigned yet, or None."""
        found = self.find_pending(number)
        owned = self._owned + name_of(b"") + number.to_bytes(16, "big")
        is_taken = found is None or found.consumer or self.txn.get(owned) is not None
        return None if is_taken else found

    def remove(self, number: int, consumer: bytes) -> None:
        """A pending entry of a consumer is pending no more."""
        raw = number.to_bytes(16, "big")
        self.txn.delete(self._pending + raw)
        self._disown(consumer, raw)
        self.pending -= 1
        self._first_gone = self._first_gone or number == self.first

    def _disown(self, name: bytes, raw: bytes) -> None:
        self.txn.delete(self._owned + name_of(name) + raw)
        owner = self.find_consumer(name)
        if owner is None:
            raise Corrupt(self.key, "what is pending belongs to no consumer")
        owner.pending -= 1


# groups of a stream


def find(txn: Txn, key: bytes, name: bytes) -> tuple[Meta, Group] | None:
    """A stream and its group; None if there is no such stream or group."""
    meta = txn.look_up(key, STREAM)
    if meta is None:
        return None
    group = find_in(txn, key, meta, name)
    return None if group is None else (meta, group)


def find_in(txn: Txn, key: bytes, meta: Meta, name: bytes) -> Group | None:
    """A group of a stream, or None."""
    raw = txn.get(meta.sub + GROUPS + name)
    return None if raw is None else Group(txn, key, meta, name, decode_group(key, raw))


def all_of(txn: Txn, key: bytes, meta: Meta) -> Iterator[Group]:
    """The groups of a stream, in the order of their names."""
    count = streams.decode_state(meta).groups
    if not count:
        return
    prefix = meta.sub + GROUPS
    size = len(prefix)
    for row, raw in txn.scan(prefix, rows.end_of(prefix), limit=count):
        yield Group(txn, key, meta, row[size:], decode_group(key, raw))


def create(txn: Txn, key: bytes, meta: Meta, name: bytes, last: int, read: int) -> bool:
    """Make a group; False if there is one of that name."""
    if find_in(txn, key, meta, name) is not None:
        return False
    Group(txn, key, meta, name, GroupFacts(last, read, 0, 0, 0)).save()
    _count_groups(txn, key, meta, 1)
    return True


def destroy(txn: Txn, key: bytes, meta: Meta, group: Group) -> None:
    """Delete a group with its consumers and pending entries."""
    txn.expect_work(2 * group.pending + group.consumers)
    counts = {CONSUMERS: group.consumers, PENDING: group.pending, OWNED: group.pending}
    for kind, count in counts.items():
        if count:
            prefix = meta.sub + kind + name_of(group.name)
            for row in list(txn.scan_keys(prefix, rows.end_of(prefix), limit=count)):
                txn.delete(row)
    txn.delete(meta.sub + GROUPS + group.name)
    _count_groups(txn, key, meta, -1)


def _count_groups(txn: Txn, key: bytes, meta: Meta, change: int) -> None:
    state = streams.decode_state(meta)
    txn.update(key, meta, streams.encode_state(state._replace(groups=state.groups + change)))


# how far a group has read


def lag(state: State, group: Group) -> int | None:
    """How many entries the group has yet to read; None where that cannot be told."""
    if not state.added:
        return 0
    read = group.read
    if read == UNKNOWN or has_gaps(state, group.last):
        read = entries_up_to(state, group.last)
    return None if read == UNKNOWN else state.added - read


def has_gaps(state: State, start: int) -> bool:
    """Whether an entry at or behind `start` may have been deleted."""
    if not state.length or state.max_deleted < state.first:
        return False
    return start <= state.max_deleted


def entries_up_to(state: State, number: int) -> int:
    """How many entries were ever added up to an id, or UNKNOWN."""
    if not state.added:
        return 0
    if not state.length and number <= state.last:
        return state.added
    if number == state.last:
        return state.added
    if number > state.last:
        return UNKNOWN
    if not state.max_deleted or state.max_deleted < state.first:
        if number < state.first:
            return state.added - state.length
        if number == state.first:
            return state.added - state.length + 1
    return UNKNOWN


# deliveries


def deliver(
    group: Group,
    state: State,
    consumer: bytes,
    found: Iterable[tuple[int, list[bytes]]],
    *,
    acknowledged: bool,
) -> list[Entry]:
    """Hand new entries to a consumer; they are pending unless `acknowledged` at once."""
    now_ms = group.txn.now_ms
    delivered: list[Entry] = []
    for number, fields in found:
        if number > group.last:
            if group.read != UNKNOWN and not has_gaps(state, number):
                group.read += 1
            elif state.added:
                group.read = entries_up_to(state, number)
            group.last = number
        if not acknowledged:
            group.assign(group.find_pending(number), Pending(number, consumer, now_ms, 1))
        delivered.append([streams.format_id(number), fields])
    return delivered


def history(
    group: Group, meta: Meta, consumer: Consumer, first: int, limit: int
) -> list[tuple[bytes, list[bytes] | None]]:
    """Deliver again what is pending with a consumer, from an id on; None for deleted entries."""
    now_ms = group.txn.now_ms
    delivered: list[tuple[bytes, list[bytes] | None]] = []
    for old in list(group.pending_of(consumer, first, limit=limit)):
        fields = streams.find(group.txn, group.key, meta, old.id)
        if fields is not None:
            new = old._replace(delivered_ms=now_ms, deliveries=old.deliveries + 1)
            group.assign(old, new)
        delivered.append((streams.format_id(old.id), fields))
    return delivered


def acknowledge(group: Group, ids: Sequence[int]) -> int:
    """Entries are done with; returns how many of them were pending."""
    done = 0
    for number in ids:
        found = group.find_pending(number)
        if found is not None:
            group.remove(number, found.consumer)
            done += 1
    if done:
        group.save()
    return done
