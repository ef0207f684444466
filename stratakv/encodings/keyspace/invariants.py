"""Whether what is to hold between two turns does hold.

Each function raises AssertionError with the number of what is broken: K as at the top of
keyspace.py, O of small_orders.py, R of ranks.py, T of txn.py; `Store.check_invariants` has those of
the store. Of what is very much a part is looked at.
"""

import random
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Final

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import ABSENT, Meta
from stratakv.storage.missing import Missing

LOOKED_AT: Final = 1000
MEMBERS_LOOKED_AT: Final = 8
RANKS_LOOKED_AT: Final = 4
_KNOWN: Final = (b"!", *rows.PREFIXES)


def check_keyspace(keyspace: Keyspace, *, is_idle: bool, is_draining: bool) -> None:
    """The invariants of a keyspace.

    `is_idle`: no long command runs. `is_draining`: the reclaimer is at work on the queues.
    """
    for database in keyspace.opened.values():
        _check_counts(database)
        waits = database.dirty or database.counts_changed
        assert keyspace.dirty or not waits, f"K2: database {database.index} waits, unannounced"
        _check_charges(database)
        with suppress(Missing):  # rows are looked at where they are at hand
            _check_members(keyspace, database)
            if not is_draining:
                _check_queue(keyspace, database)
    for row in islice(keyspace.store.pending, LOOKED_AT):
        assert row.startswith(_KNOWN), f"K7: {row!r} is to be written, of no known kind"
    names = [database.ns for database in keyspace.opened.values()]
    assert len(set(names)) == len(names), "K5: two databases have the same namespace"
    assert not keyspace.namespaces.dropped.keys() & set(names), "K5: a namespace in use is dropped"
    with suppress(Missing):
        _check_ranks(keyspace)
        _check_small_orders(keyspace)
    building = keyspace.versions.building
    assert not is_idle or not building, f"K6: nobody builds the versions {sorted(building)}"
    assert all(version <= keyspace.versions.last for version in building), (
        "K6: a version is built that was not given"
    )


def check_txns(txns: Iterable[Txn]) -> None:
    """The Txns of the databases, which commands share, hold nothing between two turns."""
    for txn in txns:
        held = txn.metas or txn.rows or txn.shifts or txn.siblings or txn.changes or txn.later
        assert not held, f"T1: the Txn of database {txn.db.index} has writes left: {held!r:.200}"
        known = txn.begun or txn.overwritten
        assert not known, (
            f"T1: the Txn of database {txn.db.index} has memories left: {known!r:.200}"
        )
        counts = txn.live_change or txn.expiring_change
        assert not counts, f"T1: the Txn of database {txn.db.index} has counts left"
        assert not txn.in_unit, "T1: a Txn is still in a unit of work"
        assert txn.answers is None, "T1: a Txn has replies of the cache left"


def _check_ranks(keyspace: Keyspace) -> None:
    """The directories of ranks: their own invariants in full if they are small, and a bucket."""
    ranks = keyspace.recollections.ranks
    total = sum(directory.bytes for directory in ranks.directories.values())
    assert total == ranks.bytes, f"R3: directories take {total} bytes, {ranks.bytes} are counted"
    for sub in islice(ranks.directories, RANKS_LOOKED_AT):
        directory = ranks.find(sub)
        live = _live_meta(keyspace, sub)
        if directory is None or live is None:
            continue
        assert directory.total == live.extra, (
            f"R1: a directory tells of {directory.total} members, {live.extra!r} are counted"
        )
        if directory.total <= 100 * LOOKED_AT:
            directory.check_invariants()
        bucket = directory.at(random.randrange(directory.total))
        order = live.order
        stop = rows.end_of(order) if bucket.stop is None else order + bucket.stop
        found = list(keyspace.store.scan_keys(order + bucket.start, stop))
        assert len(found) == bucket.size, f"R2: {bucket.size} places have {len(found)} rows"
        kept = directory.kept(bucket.start)
        assert kept is None or kept == found, "R2: other rows are kept than there are"


def _check_small_orders(keyspace: Keyspace) -> None:
    """Some of the orders of small sorted sets, in full."""
    small = keyspace.recollections.ranks.small
    total = sum(order.bytes for order in small.orders.values())
    assert total == small.bytes, f"O2: orders take {total} bytes, {small.bytes} are counted"
    for sub, order in islice(small.orders.items(), RANKS_LOOKED_AT):
        if _live_meta(keyspace, sub) is not None:
            found = list(keyspace.store.scan_keys(order.prefix, rows.end_of(order.prefix)))
            assert order.rows == found, f"O1: {len(order.rows)} rows are known of {len(found)}"
            at = len(order.prefix) + rows.SCORE_BYTES
            named = order.names is None or order.names == {row[at:] for row in found}
            assert named, f"O1: the members {order.names} are known of {len(found)}"


def _live_meta(keyspace: Keyspace, sub: bytes) -> Meta | None:
    """The meta of the set that has these sub rows now, if there is one."""
    for database in keyspace.opened.values():
        if sub.startswith(database.ns, 2):
            key = rows.key_of_sub_row(sub, len(database.ns))
            meta = database.cache.get(key) or database.load(keyspace.store, key)
            return meta if meta.sub == sub else None
    return None


def _check_counts(database: Database) -> None:
    assert 0 <= database.expiring <= database.live, (
        f"K1: database {database.index} has {database.live} keys, {database.expiring} expire"
    )


def _check_charges(database: Database) -> None:
    """In full if there are few; of more only that nothing is negative."""
    total = database.cached_bytes
    assert total >= 0, f"K3: {total} bytes are cached"
    if len(database.cache) <= LOOKED_AT:
        charged = sum(meta.charge for meta in database.cache.values())
        assert charged == total, f"K3: {total} bytes are cached, {charged} were charged"


def _check_members(keyspace: Keyspace, database: Database) -> None:
    """Some of the collections that are known as a whole, and of those that have left nothing."""
    store, ns_length, has = keyspace.store, len(database.ns), database.filter
    for meta in islice(reversed(database.cache.values()), MEMBERS_LOOKED_AT):
        is_filtered = has is not None and not has.may_have(meta.row)
        assert meta.type == ABSENT or not is_filtered, f"K8: {meta.row!r} is filtered out"
        if meta.type == ABSENT and meta.version:
            sub = rows.sub_prefix(meta.row, ns_length, meta.version)
            left = list(store.scan_keys(sub, rows.end_of(sub)))
            assert not left, f"K8: {left} are left of an incarnation that is to have no rows"
        elif meta.members is not None:
            skip = len(meta.sub)
            found = {
                row[skip:]: value for row, value in store.scan(meta.sub, rows.end_of(meta.sub))
            }
            assert meta.members == found, f"K8: known are {meta.members}, stored are {found}"


def _check_queue(keyspace: Keyspace, database: Database) -> None:
    begin, ns = database.garbage_from, database.ns
    first, stop = rows.GARBAGE + ns, rows.end_of(rows.GARBAGE + ns)
    for row in islice(keyspace.store.scan_keys(first, stop), LOOKED_AT):
        version = rows.parse_garbage_row(ns, row)[0]
        is_known = begin is not None and version >= begin
        assert is_known or version in keyspace.versions.building, (
            f"K4: version {version} is queued, the queue is looked through from {begin}"
        )
