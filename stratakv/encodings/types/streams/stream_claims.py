"""Claims: pending entries of streams that pass from one consumer to another."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.types.streams import streams
from stratakv.encodings.types.streams.stream_groups import Group, Pending
from stratakv.encodings.types.streams.streams import MAX_ID

PAGE: Final = 128


class Claim(NamedTuple):
    """For whom, and what becomes of the pending entry. `retries` of None counts one more."""

    consumer: bytes
    min_idle_ms: int
    delivered_ms: int
    retries: int | None = None
    force: bool = False
    only_ids: bool = False


def claim(group: Group, meta: Meta, ids: Sequence[int], how: Claim) -> list[object]:
    """Claim these entries; returns what was claimed, as replies show it."""
    claimed: list[object] = []
    for number in ids:
        fields = streams.find(group.txn, group.key, meta, number)
        old = group.find_pending(number)
        if fields is None:
            if old is not None:
                group.remove(number, old.consumer)
        elif old is None:
            if how.force:
                claimed.append(_take(group, None, number, fields, how))
        elif _is_idle(group, old, how):
            claimed.append(_take(group, old, number, fields, how))
    return claimed


def claim_idle(
    group: Group, meta: Meta, start: int, count: int, attempts: int, how: Claim
) -> tuple[int, list[object], list[bytes]]:
    """Claim what is idle from an id on.

    Returns where to go on (0 at the end), what was claimed, and ids that are no longer there.
    """
    claimed: list[object] = []
    gone: list[bytes] = []
    for tried, old in enumerate(_walk(group, start)):
        if tried == attempts or len(claimed) + len(gone) == count:
            return old.id, claimed, gone
        fields = streams.find(group.txn, group.key, meta, old.id)
        if fields is None:
            group.remove(old.id, old.consumer)
            gone.append(streams.format_id(old.id))
        elif _is_idle(group, old, how):
            claimed.append(_take(group, old, old.id, fields, how))
    return 0, claimed, gone


def _walk(group: Group, start: int) -> Iterator[Pending]:
    """Pending entries from an id on, a page at a time: most walks end soon."""
    page = list(group.all_pending(start, limit=PAGE))
    while page:
        yield from page
        last = page[-1].id
        page = [] if last == MAX_ID else list(group.all_pending(last + 1, limit=PAGE))


def _is_idle(group: Group, old: Pending, how: Claim) -> bool:
    return not how.min_idle_ms or group.txn.now_ms - old.delivered_ms >= how.min_idle_ms


def _take(
    group: Group, old: Pending | None, number: int, fields: list[bytes], how: Claim
) -> object:
    group.see_consumer(how.consumer)
    deliveries = how.retries
    if deliveries is None:
        deliveries = (1 if old is None else old.deliveries) + (not how.only_ids)
    group.assign(old, Pending(number, how.consumer, how.delivered_ms, deliveries))
    shown = streams.format_id(number)
    return shown if how.only_ids else [shown, fields]
