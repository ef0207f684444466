"""How long keys still have to live: on average, and how many are over soon."""

from collections.abc import Sequence
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
    ns, now_ms = txn.db.ns, txn.now_ms
    ends = sorted(set(within))
    counts = dict.fromkeys(ends, 0)
    start, stop = (rows.expiry_row(ns, now_ms + add, b"") for add in (1, ends[-1] * 1000 + 1))
    read, at = 0, 0
    for row in txn.scan_keys(start, stop, limit=FORECAST_ROWS):
        due_ms = rows.parse_expiry_row(ns, row)[0]
        while due_ms > now_ms + ends[at] * 1000:
            counts[ends[at]] = read
            at += 1
        read += 1
    for end in ends[at:]:
        counts[end] = read
    is_cut = read == FORECAST_ROWS
    return [Forecast(end, counts[end], not is_cut or end < ends[at]) for end in within]


def average_ttl_ms(keyspace: Keyspace, database: Database) -> int:
    """The mean time to live of a database's keys that have one, in milliseconds; 0 if none has.

    Up to a hundred are found in the index of expire-times. Of more, those among a thousand cached
    metas are taken; if none is cached, the middle between the first and the last to expire.
    """
    now_ms = keyspace.clock.now_ms
    if not database.expiring:
        return 0
    keyspace.settle()
    start, stop = rows.expiry_row(database.ns, now_ms + 1, b""), _end(database)
    times = _times(keyspace, database, start, stop)
    if len(times) > EXACT_KEYS:
        cached = [meta.expire_ms for meta in islice(database.cache.values(), SAMPLED_METAS)]
        sampled = [time for time in cached if time != NO_EXPIRY and time > now_ms]
        times = sampled or [times[0], _last_time(keyspace, database, start, stop)]
    return sum(times) // len(times) - now_ms if times else 0


def _end(database: Database) -> bytes:
    return rows.end_of(rows.EXPIRY + database.ns)


def _last_time(keyspace: Keyspace, database: Database, start: bytes, stop: bytes) -> int:
    last = next(iter(keyspace.store.scan_keys(start, stop, reverse=True)))
    return rows.parse_expiry_row(database.ns, last)[0]


def _times(keyspace: Keyspace, database: Database, start: bytes, stop: bytes) -> list[int]:
    found = islice(keyspace.store.scan_keys(start, stop), EXACT_KEYS + 1)
    return [rows.parse_expiry_row(database.ns, row)[0] for row in found]
