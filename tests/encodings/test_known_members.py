"""Small hashes and sets that are known as a whole: what they say is what a plain model says."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from stratakv.encodings.keyspace.invariants import check_keyspace
from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.shared.member_rows import KNOWN_MEMBERS
from stratakv.storage.store import Overlay
from tests.encodings.fixtures import Bench

KEYS = (b"h1", b"h2")
FIELDS = [b"f%d" % number for number in range(6)]
FAR_MS = 1 << 50


class Hashes:
    """Hashes that random commands change, beside dictionaries that tell what is in them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.bench = Bench()
        self.model: dict[bytes, dict[bytes, bytes]] = {}
        self.actions: list[Callable[[Txn, bytes], None]] = [
            self.assign,
            self.assign_all,
            self.assign_all,
            self.remove,
            self.delete,
            self.expire,
            self.increment,
        ]

    def write(self, txn: Txn) -> None:
        self.random.choice(self.actions)(done(txn), self.random.choice(KEYS))

    def some(self) -> list[bytes]:
        return self.random.choices(FIELDS, k=self.random.randint(1, 4))

    def value(self) -> bytes:
        return b"%d" % self.random.randrange(100) * self.random.choice((0, 1, 1, 1, 40))

    def assign(self, txn: Txn, key: bytes) -> None:
        field, value = self.random.choice(FIELDS), self.value()
        is_new = field not in self.model.setdefault(key, {})
        assert hashes.assign(txn, key, field, value) == is_new
        self.model[key][field] = value

    def assign_all(self, txn: Txn, key: bytes) -> None:
        pairs = {field: self.value() for field in self.some()}
        known = self.model.setdefault(key, {})
        new = len(pairs.keys() - known.keys())
        assert hashes.assign_all(txn, key, [part for pair in pairs.items() for part in pair]) == new
        known.update(pairs)

    def remove(self, txn: Txn, key: bytes) -> None:
        fields = self.some()
        gone = [self.model.get(key, {}).pop(field, None) for field in fields]
        assert hashes.remove(txn, key, fields) == sum(value is not None for value in gone)
        if not self.model.get(key):
            self.model.pop(key, None)

    def delete(self, txn: Txn, key: bytes) -> None:
        assert keys.delete(txn, (key,)) == (self.model.pop(key, None) is not None)

    def expire(self, txn: Txn, key: bytes) -> None:
        at_ms = FAR_MS + self.random.randrange(5)
        assert keys.expire(txn, key, at_ms, frozenset()) == (key in self.model)

    def increment(self, txn: Txn, key: bytes) -> None:
        known = self.model.setdefault(key, {})
        new = int(known.get(b"count", b"0")) + 1
        assert hashes.increment(txn, key, b"count", 1) == new
        known[b"count"] = b"%d" % new

    def assert_reads(self, txn: Txn) -> None:
        for key in KEYS:
            expected = self.model.get(key, {})
            length, found = hashes.everything(done(txn), key)
            assert dict(found) == expected
            assert length == len(expected) == hashes.count(done(txn), key)
            for field in FIELDS:
                assert hashes.find(done(txn), key, field) == expected.get(field)

    def long_txn(self) -> tuple[LongTxn, Callable[[], None]]:
        snapshot = self.bench.store.snapshot()

        def write(rows: Overlay) -> None:
            self.bench.engine.write(rows)

        bench = self.bench
        txn = LongTxn(bench.keyspace, bench.database, snapshot, lambda: None, write)
        return txn, snapshot.close

    def check(self) -> None:
        check_keyspace(self.bench.keyspace, is_idle=True, is_draining=True)


def done(txn: Txn) -> Txn:
    """The same Txn for some more commands."""
    txn.budget = 1 << 30
    return txn


@given(st.integers(0, 1 << 32), st.integers(1, 8))
def test_units_see_what_they_have_written(seed: int, length: int) -> None:
    found = Hashes(seed)
    txn = found.bench.txn()
    for _ in range(12):
        before = deepcopy(found.model)
        for _ in range(found.random.randint(1, length)):
            found.write(txn)
            if found.random.random() < 0.5:
                found.assert_reads(txn)
        if found.random.random() < 0.2:
            txn.discard()
            found.model = before
        else:
            txn.apply()
        found.assert_reads(txn)
        found.check()
        if found.random.random() < 0.4:
            found.bench.commit()
            found.check()


@given(st.integers(0, 1 << 32), st.booleans())
def test_what_long_commands_write_is_known_no_more(seed: int, kept: bool) -> None:
    found = Hashes(seed)
    txn = found.bench.txn()
    for _ in range(6):
        found.write(txn)
        txn.apply()
    found.bench.commit()
    before = deepcopy(found.model)
    long_txn, close = found.long_txn()
    for _ in range(5):
        found.write(long_txn)
        found.assert_reads(long_txn)
    if kept:
        long_txn.conclude()
        long_txn.apply()
    else:
        long_txn.discard()
        found.model = before
    close()
    found.assert_reads(txn)
    found.check()
    for _ in range(4):
        found.write(txn)
        txn.apply()
        found.assert_reads(txn)
    found.bench.commit()
    found.check()


def test_a_hash_that_is_made_is_read_without_the_engine() -> None:
    found = Hashes(1)
    txn = found.bench.txn()
    hashes.assign_all(txn, b"h1", (b"b", b"2", b"a", b"1"))
    txn.apply()
    found.bench.commit()
    stats = found.bench.store.stats
    before = stats.reads, stats.scans
    for field, value in ((b"a", b"3"), (b"c", b"4")):
        hashes.assign(done(txn), b"h1", field, value)
        txn.apply()
    assert hashes.everything(done(txn), b"h1") == (3, [(b"a", b"3"), (b"b", b"2"), (b"c", b"4")])
    assert hashes.find(done(txn), b"h1", b"none") is None
    assert (stats.reads, stats.scans) == before


def test_a_deleted_hash_that_is_made_again_leaves_no_marks() -> None:
    found = Hashes(1)
    txn = found.bench.txn()
    pairs = (b"a", b"1", b"b", b"2")
    hashes.assign_all(txn, b"h1", pairs)
    txn.apply()
    found.bench.commit()
    keys.delete(done(txn), (b"h1",))
    txn.apply()
    hashes.assign_all(done(txn), b"h1", pairs)
    txn.apply()
    assert None not in found.bench.store.pending.values()
    found.bench.commit()
    found.check()
    keys.delete(done(txn), (b"h1",))
    txn.apply()
    found.bench.commit()
    assert not [row for row in found.bench.rows() if row.startswith((b"s#", b"g#"))]


def test_a_hash_that_has_grown_is_known_no_more() -> None:
    found = Hashes(1)
    txn = found.bench.txn()
    for number in range(KNOWN_MEMBERS + 1):
        hashes.assign(done(txn), b"h1", b"%d" % number, b"")
        txn.apply()
        meta = txn.find(b"h1")
        assert meta is not None
        assert (meta.members is not None) == (number < KNOWN_MEMBERS and meta.members_bytes > 0)
    hashes.assign(done(txn), b"h2", b"f", b"short")
    txn.apply()
    hashes.assign(done(txn), b"h2", b"f", b"x" * 10_000)
    txn.apply()
    meta = txn.find(b"h2")
    assert meta is not None
    assert meta.members is None
    assert hashes.everything(done(txn), b"h2") == (1, [(b"f", b"x" * 10_000)])
    found.bench.commit()
    found.check()
