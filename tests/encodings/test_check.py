"""`stratakv check`: every kind of damage is found and named, and a sound store is sound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stratakv.encodings.layout import metas, rows
from stratakv.encodings.types.hashes import field_times, hashes
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zsets
from stratakv.encodings.upkeep.check import check_directory
from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import Rows
from tests.encodings.fixtures import Bench, commit_and_forget, level_bench

NS = b"0:"
AT_MS = 4_000_000_000_000
AT = rows.U64.pack(AT_MS)


def fill(bench: Bench) -> None:
    txn = bench.txn()
    strings.assign(txn, b"string", b"value", bench.clock.now_ms + 5000)
    hashes.assign_all(txn, b"hash", [b"f1", b"v1", b"f2", b"v2"])
    sets.add_all(txn, b"set", [b"a", b"b"])
    hashes.assign_all(txn, b"timed", [b"f1", b"v1", b"f2", b"v2"])
    field_times.expire(txn, b"timed", AT_MS, field_times.CONDITIONS[b""], [b"f1"])
    zsets.add(txn, b"zset", [(1.0, b"a"), (2.0, b"b")])
    lists.create(txn, b"list", [b"x", b"y"])
    txn.apply()
    sets.add_all(txn, b"dead", [b"a", b"b"])
    commit_and_forget(txn)
    txn.drop(b"dead")
    txn.apply()
    bench.commit()


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    fill(bench)
    return bench


def meta(bench: Bench, key: bytes) -> metas.Meta:
    row = rows.meta_row(NS, key)
    return metas.decode(row, len(NS), bench.rows()[row])


def test_a_sound_store_has_no_problem(bench: Bench) -> None:
    assert bench.problems() == []


def test_blind_collections_need_no_count() -> None:
    bench = Bench(encodings={metas.HASH: 1, metas.SET: 1})
    fill(bench)
    assert bench.problems() == []


Damage = Callable[[Bench], Rows]


def recounted(key: bytes, extra: metas.Extra) -> Damage:
    def damage(bench: Bench) -> Rows:
        changed = meta(bench, key).with_extra(extra)
        return {changed.row: metas.encode(changed)}

    return damage


def sub(key: bytes, member: bytes, value: bytes | None) -> Damage:
    return lambda bench: {meta(bench, key).sub + member: value}


def order(member: bytes, score: float, value: bytes | None) -> Damage:
    return lambda bench: {meta(bench, b"zset").order + rows.encode_score(score) + member: value}


def row(name: bytes, value: bytes | None) -> Damage:
    return lambda bench: {name: value}


def timed(prefix: bytes, name: bytes, value: bytes | None) -> Damage:
    return lambda bench: {prefix + meta(bench, b"timed").sub[2:] + name: value}


def t_row(bench: Bench, at_ms: int = AT_MS) -> bytes:
    return rows.field_expiry_row(NS, at_ms, meta(bench, b"timed").version, b"timed")


def no_times(bench: Bench) -> Rows:
    path = meta(bench, b"timed").sub[2:]
    return {b"k#" + path + AT + b"f1": None, b"i#" + path + b"f1": None, t_row(bench): None}


HEAD = rows.SEQUENCE_START

DAMAGES: list[tuple[str, Damage, str]] = [
    ("count too high", recounted(b"hash", 3), "'hash' in 0: the meta says 3 elements, there are 2"),
    ("count too low", recounted(b"set", 1), "'set' in 0: the meta says 1 elements, there are 2"),
    ("row missing", sub(b"set", b"a", None), "'set' in 0: the meta says 2 elements, there are 1"),
    ("set with a value", sub(b"set", b"a", b"!"), "member 'a' has a value"),
    ("k# missing", order(b"a", 1.0, None), "member 'a' has no k# row"),
    ("k# too many", order(b"c", 1.0, b""), "k# row of member 'c' has no s# row of that score"),
    ("k# of an old score", order(b"a", 5.0, b""), "k# row of member 'a' has no s# row"),
    ("k# with a value", order(b"a", 1.0, b"!"), "k# row of member 'a'"),
    ("score too short", sub(b"zset", b"a", b"123"), "member 'a' has no valid score"),
    ("score that is no number", sub(b"zset", b"a", b"\xff" * 8), "member 'a' has no valid score"),
    ("list longer", recounted(b"list", (HEAD, HEAD + 3)), "says 3 elements, there are 2"),
    ("list shorter", recounted(b"list", (HEAD, HEAD + 1)), "says 1 elements, there are 2"),
    ("list moved", recounted(b"list", (HEAD - 1, HEAD + 1)), "element 0 of 2 is not where"),
    ("list with a gap", sub(b"list", rows.sequence(HEAD), None), "element 0 of 2 is not where"),
    ("e# missing", lambda b: {e_row(b): None}, "'string' in 0: has an expire-time but no e# row"),
    ("e# too many", row(rows.expiry_row(NS, 7, b"set"), b""), "'set' in 0: e# row for 7"),
    ("e# without a key", row(rows.expiry_row(NS, 7, b"no"), b""), "'no' in 0: e# row for 7"),
    ("time without its k# row", timed(b"k#", AT + b"f1", None), "field 'f1' has no k# row"),
    ("time without its i# row", timed(b"i#", b"f1", None), "k# row of field 'f1' has no i# row"),
    ("time of no field", timed(b"i#", b"f3", AT), "field 'f3' has a time but no s# row"),
    ("t# missing", lambda b: {t_row(b): None}, "that expires at 4000000000000 but no t# row"),
    ("t# too early", lambda b: {t_row(b, 7): b""}, "'timed' in 0: t# row for 7 without such a"),
    ("no time at all", lambda b: no_times(b), "is of a version with expire-times but has none"),
    ("n# wrong", row(b"n#0:", rows.U64.pack(9)), "'n#0:' in 0: says 9 keys, there are 6"),
    ("n# missing", row(b"n#0:", None), "says 0 keys, there are 6"),
    ("x# wrong", row(b"x#0:", rows.U64.pack(0)), "says 0 keys with an expire-time, there are 1"),
    ("g# lost", lambda b: {g_row(b): None}, "'dead' in 0: 2 s# rows of version"),
    (
        "g# of a live key",
        lambda b: {live_g_row(b): b"\5\0"},
        "'set' in 0: is live and queued in g#",
    ),
    ("k# of a set", lambda b: {b"k#" + meta(b, b"set").sub[2:]: b""}, "1 k# rows of version"),
    ("row of no key", row(b"s#0:whatever", b""), "cannot be taken apart"),
    ("unknown kind", row(b"q#0:row", b""), "'q#0:row': a row of an unknown kind"),
    ("unknown mark", row(b"!mark", b""), "'!mark': a row of an unknown kind"),
    ("meta cut", row(rows.meta_row(NS, b"set"), b"123"), "corrupt value stored at key 'set'"),
    ("another's hash", row(b"m#0:12345678key", b"\0\1" + bytes(16)), "the key's hash"),
    ("mark too low", row(rows.VERSION_ROW, rows.U64.pack(1)), "is above the mark 1"),
    ("no such database", row(b"n#tenant:", rows.U64.pack(0)), "belongs to no database"),
    ("newer format", row(rows.FORMAT_ROW, rows.U32.pack(99)), "format 99"),
    ("no format", row(rows.FORMAT_ROW, None), "format 0"),
]


def e_row(bench: Bench) -> bytes:
    return rows.expiry_row(NS, meta(bench, b"string").expire_ms, b"string")


def g_row(bench: Bench) -> bytes:
    return next(row for row in bench.rows() if row.startswith(b"g#"))


def live_g_row(bench: Bench) -> bytes:
    return rows.garbage_row(NS, meta(bench, b"set").version, b"set")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [(damage, problem) for _, damage, problem in DAMAGES],
    ids=[name for name, _, _ in DAMAGES],
)
def test_damage_is_found_and_named(bench: Bench, damage: Damage, problem: str) -> None:
    bench.engine.write(damage(bench))
    found = bench.problems()
    assert any(problem in line for line in found), found


def test_a_dropped_namespace_is_not_looked_at(bench: Bench) -> None:
    bench.keyspace.flush(bench.database)
    bench.commit()
    bench.engine.write({b"n#0:": rows.U64.pack(77), b"s#0:whatever": b""})
    assert bench.problems() == []


def test_a_directory_is_checked_and_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = level_bench(tmp_path)
    fill(bench)
    bench.engine.close()
    assert check_directory(tmp_path) == 0
    assert capsys.readouterr().out == f"{tmp_path}: 6 keys, 27 rows checked, no problem\n"
    bench = level_bench(tmp_path)
    bench.engine.write(recounted(b"hash", 3)(bench))
    bench.engine.close()
    assert check_directory(tmp_path) == 1
    problem, summary = capsys.readouterr().out.splitlines()
    assert problem == "'hash' in 0: the meta says 3 elements, there are 2"
    assert summary.endswith("1 problem")


def test_a_place_without_a_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="is not a data directory"):
        check_directory(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_store_in_use_is_refused(tmp_path: Path) -> None:
    bench = level_bench(tmp_path)
    with pytest.raises(StoreUnavailable, match="in use"):
        check_directory(tmp_path)
    bench.engine.close()
