"""The part of `stratakv check` that knows streams: their counts, groups and pending entries."""

from collections.abc import Callable, Iterator

from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.types.streams import streams
from stratakv.encodings.types.streams.stream_groups import (
    CONSUMERS,
    GROUPS,
    OWNED,
    PENDING,
    decode_consumer,
    decode_group,
    decode_pending,
    name_of,
)
from stratakv.encodings.types.streams.streams import ENTRIES, State
from stratakv.errors import CommandError, quote
from stratakv.storage.contract import Reader

Count = Callable[[], None]


def check_stream(reader: Reader, key: bytes, meta: Meta, count: Count) -> Iterator[str]:
    """What is wrong with a stream; `count` is called for each row."""
    state = streams.decode_state(meta)
    try:
        yield from _check_entries(reader, key, meta, state, count)
        groups = 0
        for name, raw in _rows(reader, meta.sub + GROUPS, count):
            groups += 1
            yield from _check_group(reader, key, meta, name, raw, count)
        if groups != state.groups:
            yield f"the meta says {state.groups} groups, there are {groups}"
        yield from _check_orphans(reader, meta)
    except CommandError as error:
        yield error.text.decode("latin-1")


def _rows(reader: Reader, prefix: bytes, count: Count) -> Iterator[tuple[bytes, bytes]]:
    """(the rest of the row's name, value) of the rows under a prefix."""
    for row, value in reader.scan(prefix, rows.end_of(prefix)):
        count()
        yield row[len(prefix) :], value


def _check_entries(
    reader: Reader, key: bytes, meta: Meta, state: State, count: Count
) -> Iterator[str]:
    length = first = last = 0
    for name, raw in _rows(reader, meta.sub + ENTRIES, count):
        last = streams.id_of(name)
        first = first if length else last
        length += 1
        streams.decode_fields(key, raw)
    if length != state.length:
        yield f"the meta says {state.length} entries, there are {length}"
    if first != state.first:
        yield f"the meta says that {_shown(state.first)} is first, it is {_shown(first)}"
    if last > state.last:
        yield f"the meta says that {_shown(state.last)} is last, there is {_shown(last)}"


def _check_group(
    reader: Reader, key: bytes, meta: Meta, name: bytes, raw: bytes, count: Count
) -> Iterator[str]:
    group = decode_group(key, raw)
    title = f"group {quote(name).decode('latin-1')}"
    consumers = pending = first = 0
    for consumer, value in _rows(reader, meta.sub + CONSUMERS + name_of(name), count):
        consumers += 1
        owned = meta.sub + OWNED + name_of(name) + name_of(consumer)
        found = sum(1 for _ in _rows(reader, owned, count))
        if found != decode_consumer(key, value)[1]:
            yield f"{title} has a consumer whose pending entries are {found}, not as counted"
    for number, value in _rows(reader, meta.sub + PENDING + name_of(name), count):
        first = first if pending else streams.id_of(number)
        pending += 1
        owner = decode_pending(key, 0, value).consumer
        if reader.get(meta.sub + OWNED + name_of(name) + name_of(owner) + number) is None:
            yield f"{title} has a pending entry that its consumer does not own"
    if (consumers, pending, first) != (group.consumers, group.pending, group.first):
        yield (
            f"{title} says {group.consumers} consumers and {group.pending} pending from "
            f"{_shown(group.first)}, there are {consumers} and {pending} from {_shown(first)}"
        )
    owned_rows = sum(1 for _ in _rows(reader, meta.sub + OWNED + name_of(name), count))
    if owned_rows != pending:
        yield f"{title} has {pending} pending entries, consumers own {owned_rows}"


def _check_orphans(reader: Reader, meta: Meta) -> Iterator[str]:
    """Rows of groups that are not there, or of no known kind."""
    for kind in (CONSUMERS, PENDING, OWNED):
        at: bytes | None = meta.sub + kind
        stop = rows.end_of(meta.sub + kind)
        while at is not None and (row := next(reader.scan_keys(at, stop), None)) is not None:
            start = len(meta.sub) + 5
            name = row[start : start + int.from_bytes(row[start - 4 : start])]
            if reader.get(meta.sub + GROUPS + name) is None:
                yield f"rows of group {quote(name).decode('latin-1')}, which is not there"
            at = rows.end_of(meta.sub + kind + name_of(name))
    beyond = rows.end_of(meta.sub + OWNED)
    if next(reader.scan_keys(beyond, rows.end_of(meta.sub)), None) is not None:
        yield "a row of an unknown kind"


def _shown(number: int) -> str:
    return streams.format_id(number).decode()
