"""Commands with very many arguments turn patient at once, and leave what short ones leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stratakv.encodings.keyspace.long_txn import MANY
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.hyperloglog import hyperloglog
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zsets
from stratakv.encodings.upkeep.check import check
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

COUNT = 3 * MANY
NAMES = tuple(b"name:%d" % number for number in range(COUNT))
PAIRS = tuple(word for name in NAMES for word in (name, b"value"))
SCORED = [(float(number), name) for number, name in enumerate(NAMES)]
KEY = b"key"

Operation = Callable[[Txn], Any]
CALLS: list[tuple[str, list[Operation], Any]] = [
    ("SADD", [lambda txn: sets.add_all(txn, KEY, NAMES)], COUNT),
    (
        "SADD to an old one",
        [lambda txn: sets.add(txn, KEY, b"x"), lambda txn: sets.add_all(txn, KEY, NAMES)],
        COUNT,
    ),
    (
        "SREM",
        [
            lambda txn: sets.add_all(txn, KEY, (*NAMES, b"x")),
            lambda txn: sets.remove(txn, KEY, NAMES),
        ],
        COUNT,
    ),
    ("HSET", [lambda txn: hashes.assign_all(txn, KEY, PAIRS)], COUNT),
    (
        "HDEL",
        [
            lambda txn: hashes.assign_all(txn, KEY, (*PAIRS, b"x", b"y")),
            lambda txn: hashes.remove(txn, KEY, NAMES),
        ],
        COUNT,
    ),
    ("ZADD", [lambda txn: zsets.add(txn, KEY, SCORED)], (COUNT, 0)),
    (
        "ZREM",
        [
            lambda txn: zsets.add(txn, KEY, [*SCORED, (1.0, b"x")]),
            lambda txn: zsets.remove(txn, KEY, NAMES),
        ],
        COUNT,
    ),
    ("RPUSH", [lambda txn: lists.push(txn, KEY, NAMES, left=False)], COUNT),
    (
        "LPUSH to an old one",
        [
            lambda txn: lists.push(txn, KEY, [b"x"], left=False),
            lambda txn: lists.push(txn, KEY, NAMES, left=True),
        ],
        COUNT + 1,
    ),
    ("PFADD", [lambda txn: hyperloglog.add(txn, KEY, NAMES)], True),
    ("MSET", [lambda txn: strings.assign_all(txn, PAIRS)], None),
    (
        "MGET",
        [
            lambda txn: strings.assign_all(txn, PAIRS),
            lambda txn: list(strings.find_all(txn, NAMES)),
        ],
        [b"value"] * COUNT,
    ),
    (
        "EXISTS",
        [
            lambda txn: strings.assign_all(txn, PAIRS),
            lambda txn: keys.count_existing(txn, NAMES, uses=True),
        ],
        COUNT,
    ),
    (
        "DEL",
        [lambda txn: strings.assign_all(txn, PAIRS), lambda txn: keys.delete(txn, NAMES)],
        COUNT,
    ),
]


@pytest.mark.parametrize(("calls", "reply"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_many_arguments_are_worked_off_in_slices(calls: list[Operation], reply: Any) -> None:
    bench = Bench(MemoryEngine())
    for call in calls[:-1]:
        bench.do(call)
    runs, slices = bench.long_runs, bench.pauses + bench.writes
    assert bench.do(calls[-1]) == reply
    assert bench.long_runs == runs + 1
    assert bench.pauses + bench.writes > slices
    assert list(check(bench.keyspace.store.engine)) == []


def test_a_short_txn_does_nothing_before_it_says_that_it_is_too_long() -> None:
    bench = Bench(MemoryEngine())
    bench.do(strings.assign_all, PAIRS)
    read = bench.keyspace.store.stats.reads
    bench.do(keys.delete, NAMES)
    assert bench.keyspace.store.stats.reads == read  # the long one reads from its snapshot


@pytest.mark.slow
def test_the_cache_does_not_remember_what_was_deleted_or_written_in_bulk() -> None:
    bench = Bench(MemoryEngine())
    for name in NAMES[:10]:
        bench.do(strings.assign, name, b"old")
    database = bench.keyspace.databases[0]
    bench.do(strings.assign_all, PAIRS)
    assert [bench.do(strings.find, name) for name in NAMES[:3]] == [b"value"] * 3
    bench.do(keys.delete, NAMES)
    assert [bench.do(strings.find, name) for name in NAMES[:3]] == [None] * 3
    assert database.live == 0
    assert database.cached_bytes == sum(meta.charge for meta in database.cache.values())


def test_listeners_hear_of_their_keys_alone() -> None:
    bench = Bench(MemoryEngine())
    heard: list[bytes] = []
    watchers = bench.keyspace.watchers
    for key in (NAMES[7], b"elsewhere", KEY):
        watchers.listen(0, key, lambda database, key: heard.append(key))
    bench.do(strings.assign_all, PAIRS)
    bench.do(lambda txn: sets.add_all(txn, KEY, NAMES))
    bench.do(lambda txn: sets.remove(txn, KEY, NAMES[1:]))
    assert heard == [NAMES[7], KEY, KEY]


def test_what_many_arguments_leave_is_freed_in_steps() -> None:
    bench = Bench(MemoryEngine())
    bench.do(strings.assign_all, PAIRS)
    steps = 1
    while bench.keyspace.leftovers.free_some():
        steps += 1
    assert steps > COUNT // 1000
