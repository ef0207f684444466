"""The part of the recount that knows streams: entries, groups, consumers, and what is pending."""

from typing import TYPE_CHECKING

from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.types.streams import streams
from stratakv.encodings.types.streams.stream_groups import (
    CONSUMERS,
    GROUPS,
    OWNED,
    PENDING,
    GroupFacts,
    decode_consumer,
    decode_group,
    decode_pending,
    encode_consumer,
    encode_group,
    name_of,
)
from stratakv.encodings.types.streams.streams import ENTRIES, State
from stratakv.errors import CommandError

if TYPE_CHECKING:
    from stratakv.encodings.upkeep.recount import Draft


def recount_stream(draft: "Draft", key: bytes, meta: Meta) -> tuple[Meta, str]:
    """The meta that fits to the rows that are left, and what is lost, if anything."""
    state = streams.decode_state(meta)
    mended = _mended_entries(draft, key, meta, state)
    names = [row[len(meta.sub) + 1 :] for row, _ in draft.scan(meta.sub + GROUPS)]
    kept = [name for name in names if _mended_group(draft, key, meta, name)]
    _drop_orphans(draft, meta, kept)
    mended = mended._replace(groups=len(kept))
    if mended == state:
        return meta, ""
    lost = f"{mended.length} entries are left of {state.length}"
    if mended.groups != state.groups:
        lost += f", {mended.groups} groups of {state.groups}"
    return meta.with_extra(streams.encode_state(mended)), lost


def _mended_entries(draft: "Draft", key: bytes, meta: Meta, state: State) -> State:
    length = first = last = 0
    for row, raw in draft.scan(meta.sub + ENTRIES):
        try:
            streams.decode_fields(key, raw)
        except CommandError:
            draft.put(row, None)
            continue
        last = streams.id_of(row)
        first = first if length else last
        length += 1
    return state._replace(
        length=length,
        first=first,
        last=max(state.last, last),
        added=max(state.added, length),
    )


def _mended_group(draft: "Draft", key: bytes, meta: Meta, name: bytes) -> bool:
    """Count a group anew; False if its row cannot be read, and is gone."""
    row = meta.sub + GROUPS + name
    raw = draft.get(row)
    try:
        group = decode_group(key, raw or b"")
    except CommandError:
        draft.put(row, None)
        return False
    owners, first = _mended_pending(draft, key, meta, name)
    consumers = _mended_consumers(draft, key, meta, name, owners)
    pending = sum(owners.values())
    facts = GroupFacts(group.last, group.read, pending, first, consumers)
    if facts != group:
        draft.put(row, encode_group(facts))
    return True


def _mended_pending(
    draft: "Draft", key: bytes, meta: Meta, name: bytes
) -> tuple[dict[bytes, int], int]:
    """How much each consumer owns of what is pending, and the id of the first of it."""
    owners: dict[bytes, int] = {}
    first = 0
    owned = meta.sub + OWNED + name_of(name)
    for row, raw in draft.scan(meta.sub + PENDING + name_of(name)):
        try:
            owner = decode_pending(key, 0, raw).consumer
        except CommandError:
            draft.put(row, None)
            continue
        first = first or streams.id_of(row)
        owners[owner] = owners.get(owner, 0) + 1
        if draft.get(owned + name_of(owner) + row[-16:]) is None:
            draft.put(owned + name_of(owner) + row[-16:], b"")
    for row, _ in draft.scan(owned):
        raw = draft.get(meta.sub + PENDING + name_of(name) + row[-16:]) or b""
        consumer = row[len(owned) + 4 : -16]
        if not raw or decode_pending(key, 0, raw).consumer != consumer:
            draft.put(row, None)
    return owners, first


def _mended_consumers(
    draft: "Draft", key: bytes, meta: Meta, name: bytes, owners: dict[bytes, int]
) -> int:
    """Give each consumer its count, and a row to those that lost theirs; returns how many."""
    prefix = meta.sub + CONSUMERS + name_of(name)
    known: set[bytes] = set()
    for row, raw in draft.scan(prefix):
        consumer = row[len(prefix) :]
        known.add(consumer)
        try:
            seen_ms, pending = decode_consumer(key, raw)
        except CommandError:
            seen_ms, pending = 0, -1
        if pending != owners.get(consumer, 0):
            draft.put(row, encode_consumer(seen_ms, owners.get(consumer, 0)))
    for consumer in owners.keys() - known:
        draft.put(prefix + consumer, encode_consumer(0, owners[consumer]))
    return len(known | owners.keys())


def _drop_orphans(draft: "Draft", meta: Meta, names: list[bytes]) -> None:
    """Rows of groups that are not there, or of no known kind."""
    for kind in (CONSUMERS, PENDING, OWNED):
        at: bytes = meta.sub + kind
        stop = rows.end_of(meta.sub + kind)
        while (row := draft.first(at, stop)) is not None:
            start = len(meta.sub) + 5
            name = row[start : start + int.from_bytes(row[start - 4 : start], "big")]
            at = rows.end_of(meta.sub + kind + name_of(name))
            if name not in names:
                draft.delete_all(meta.sub + kind + name_of(name))
    for row in draft.engine.scan_keys(rows.end_of(meta.sub + OWNED), rows.end_of(meta.sub)):
        draft.put(row, None)
