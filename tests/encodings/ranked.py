"""A sorted set that random commands change, beside a plain model of it."""

from __future__ import annotations

import random
from collections.abc import Callable

from stratakv.encodings.keyspace.invariants import check_keyspace
from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import ZSET, Meta
from stratakv.encodings.types.zsets import zset_ranges, zsets
from stratakv.encodings.types.zsets.zset_ranges import Query, RankRange, ScoreRange
from stratakv.storage.store import Overlay
from tests.encodings.fixtures import Bench

KEY = b"z"


class Ranked:
    """A keyspace whose sorted set has a directory, and a list that tells what is in it.

    Sets of fewer than `least` members have none; they are known as a whole once they were read, or
    if they are new.
    """

    def __init__(self, seed: int, least: int = 20) -> None:
        self.random = random.Random(seed)
        self.bench = Bench()
        self.ranks = self.bench.keyspace.recollections.ranks
        self.ranks.choose_least(least)
        self.wanted: list[tuple[bytes, int]] = []
        self.ranks.on_wanted = lambda sub, count: self.wanted.append((sub, count))
        self.model: dict[bytes, float] = {}

    def fill(self, count: int) -> None:
        pairs = [(float(self.random.randrange(30)), b"m%d" % number) for number in range(count)]
        txn = self.bench.txn()
        txn.budget = 1 << 30
        zsets.add(txn, KEY, pairs)
        txn.apply()
        self.model.update({member: score for score, member in pairs})
        self.ranks.small.forget()  # as after a restart: what is made anew is known at once

    def order(self) -> list[tuple[float, bytes]]:
        return sorted((score, member) for member, score in self.model.items())

    def make(self, pause: Callable[[], None] = lambda: None) -> bool:
        meta = self.meta()
        assert meta is not None
        return self.ranks.make(meta.sub, zsets.size(meta), self.bench.store, pause)

    def meta(self) -> Meta | None:
        return self.bench.txn().expect(KEY, ZSET)

    def write(self, txn: Txn) -> None:
        """Something random, in the Txn and in the model."""
        pick = self.random.random()
        name = b"m%d" % self.random.randrange(300)
        if pick < 0.5:
            score = float(self.random.randrange(30))
            zsets.add_one(txn, KEY, score, name)
            self.model[name] = score
        elif pick < 0.6:
            zsets.increment(txn, KEY, 1.0, name)
            self.model[name] = self.model.get(name, 0.0) + 1.0
        elif pick < 0.8:
            zsets.remove(txn, KEY, [name])
            self.model.pop(name, None)
        elif pick < 0.9:
            for member, _ in zsets.pop(txn, KEY, 2, highest=self.random.random() < 0.5):
                del self.model[member]
        else:
            first = self.random.randrange(max(1, len(self.model)))
            gone = [member for _, member in self.order()[first : first + 2]]
            wanted = RankRange(first, first + 1)
            assert zset_ranges.remove(txn, KEY, wanted, "e") == len(gone)
            for member in gone:
                del self.model[member]

    def assert_reads(self, txn: Txn) -> None:
        """Everything that counts positions says what the model says."""
        order = self.order()
        names = [member for _, member in order]
        if not names:
            return
        at = self.random.randrange(len(names))
        assert zsets.rank(txn, KEY, names[at]) == at
        assert zsets.rank(txn, KEY, names[at], reverse=True) == len(names) - 1 - at
        low, high = sorted(self.random.choices(range(-1, 32), k=2))
        within = [member for score, member in order if low <= score < high]
        scores = ScoreRange(low, high, high_is_open=True)
        assert zset_ranges.count(txn, KEY, scores) == len(within)
        offset = self.random.randrange(len(names))
        for reverse in (False, True):
            listed = names[::-1] if reverse else names
            expected = listed[at : at + 7]
            assert self.select(txn, Query(RankRange(at, at + 6), reverse)) == expected
            part = (within[::-1] if reverse else within)[offset : offset + 5]
            assert self.select(txn, Query(scores, reverse, offset, 5)) == part
            rest = (within[::-1] if reverse else within)[offset:]
            assert self.select(txn, Query(scores, reverse, offset)) == rest
        assert zsets.random_one(txn, KEY) in self.model
        picked = list(zsets.random_members(txn, KEY, 3)[1])
        assert len(set(picked)) == min(3, len(names))
        assert set(picked) <= self.model.keys()

    def select(self, txn: Txn, query: Query) -> list[bytes]:
        found = zset_ranges.select(txn, KEY, query)
        return [] if found is None else list(found.members())

    def long_txn(self) -> tuple[LongTxn, Callable[[], None]]:
        """Over what is committed. Call what comes with it at its end."""
        bench = self.bench
        snapshot = bench.store.snapshot()

        def write(rows: Overlay) -> None:
            bench.engine.write(rows)

        txn = LongTxn(bench.keyspace, bench.database, snapshot, lambda: None, write)
        return txn, snapshot.close

    def check(self) -> None:
        check_keyspace(self.bench.keyspace, is_idle=True, is_draining=True)


def done(txn: Txn) -> Txn:
    """The same Txn for the next command."""
    txn.budget = 1000
    return txn
