"""How long keys still have to live: on average, and how many are over soon."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import NO_EXPIRY

EXACT_KEYS: Final = 100
SAMPLED_METAS: Final = 1000
FORECAST_ROWS: Final = 100_000
"""So many rows of the index a forecast reads at most: a tenth of a second, in slices."""
SPAN_MS: Final = 1000
"""The least of the index that a forecast looks at in one go."""
SPAN_SECONDS: Final = 0.0005
SPAN_WORK: Final = 50
SLOW_SPAN_WORK: Final = 1000
"""What a look at a span costs beside the rows that are found there, in rows."""


class Forecast(NamedTuple):
    """How many keys are over within a time."""

    seconds: int
    keys: int
    is_all: bool
    """Whether there are no more than these: counting ends at `FORECAST_ROWS`."""


def forecast(txn: Txn, within: Sequence[int]) -> list[Forecast]:
    """For each of some times, how many keys of the database expire until then.

    The index is in order of time, so that only rows of keys are read that are counted.
    """
    now_ms = txn.now_ms
    ends = sorted(set(within))
    counts = dict.fromkeys(ends, 0)
    read, at = 0, 0
    for due_ms in _due_times(txn, now_ms + 1, now_ms + ends[-1] * 1000 + 1):
        while due_ms > now_ms + ends[at] * 1000:
            counts[ends[at]] = read
            at += 1
        read += 1
    for end in ends[at:]:
        counts[end] = read
    is_cut = read == FORECAST_ROWS
    return [Forecast(end, counts[end], not is_cut or end < ends[at]) for end in within]


def _due_times(txn: Txn, start_ms: int, stop_ms: int) -> Iterator[int]:
    """The expire-times between two moments, up to `FORECAST_ROWS`, a span after the other.

    Where keys are written anew before they expire, the engine steps over a hundred thousand deleted
    rows to the next that is left, and cannot be interrupted. So a span is short where that took
    long, and long where there is nothing.
    """
    ns, left, span = txn.db.ns, FORECAST_ROWS, SPAN_MS
    while start_ms < stop_ms and left > 0:
        began = time.perf_counter()
        until = min(stop_ms, start_ms + span)
        start, stop = rows.expiry_row(ns, start_ms, b""), rows.expiry_row(ns, until, b"")
        for row in txn.scan_keys(start, stop, limit=left):
            left -= 1
            yield rows.parse_expiry_row(ns, row)[0]
        was_quick = time.perf_counter() - began < SPAN_SECONDS
        start_ms, span = until, span * 2 if was_quick else SPAN_MS
        txn.spend(SPAN_WORK if was_quick else SLOW_SPAN_WORK)


def average_ttl_ms(keyspace: Keyspace, database: Database) -> int:
    """The mean time to live of a database's keys that have one, in milliseconds; 0 if none has.

    It is that of those among a thousand cached metas. If none of them has one, that of the keys in
    the index of expire-times, up to a hundred; of more, the middle between the first and the last
    to expire. The index comes second: keys that are written anew before they expire leave deleted
    rows there, over which each look would have to step.
    """
    now_ms = keyspace.clock.now_ms
    if not database.expiring:
        return 0
    cached = [meta.expire_ms for meta in islice(database.cache.values(), SAMPLED_METAS)]
    times = [time_ms for time_ms in cached if time_ms != NO_EXPIRY and time_ms > now_ms]
    times = times or _indexed(keyspace, database, now_ms)
    return sum(times) // len(times) - now_ms if times else 0


def _indexed(keyspace: Keyspace, database: Database, now_ms: int) -> list[int]:
    """Times of the index that stand for all of them."""
    keyspace.settle()
    ns = database.ns
    start, stop = rows.expiry_row(ns, now_ms + 1, b""), rows.end_of(rows.EXPIRY + ns)
    found = islice(keyspace.store.scan_keys(start, stop), EXACT_KEYS + 1)
    times = [rows.parse_expiry_row(ns, row)[0] for row in found]
    if len(times) <= EXACT_KEYS:
        return times
    last = next(iter(keyspace.store.scan_keys(start, stop, reverse=True)))
    return [times[0], rows.parse_expiry_row(ns, last)[0]]
