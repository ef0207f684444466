"""The table of formats is what the operations write, and what check holds them to."""

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import formats, metas, rows
from stratakv.encodings.layout.formats import FORMATS, TABLE, Format
from stratakv.encodings.layout.metas import HASH, LIST, PIECES, SET, STRING, ZSET
from stratakv.encodings.types.hashes import field_times, hashes
from stratakv.encodings.types.keys import copying
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.streams import streams
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zsets
from stratakv.errors import Corrupt
from tests.encodings.fixtures import Bench

LONG = b"a member of more than fifteen bytes"
IN_THE_STORE = [one for one in TABLE if not one.remote]
"""Those that can be written without a Redis; tests/tier writes the others."""


def shown(one: Format) -> str:
    return f"{metas.NAMES[one.type].decode()} v{one.version}"


def bench_for(one: Format) -> Bench:
    """New keys get the format, or the one that turns into it."""
    version = FORMATS[one.type][one.version].turns_into if one.timed else one.version
    assert version is not None
    return Bench(encodings={one.type: version})


def write(txn: Txn, one: Format, key: bytes) -> None:
    if one.type == STRING:
        size = 2 * txn.keyspace.limits.piece_bytes if one.version == PIECES else 1
        strings.assign(txn, key, b"x" * size)
    elif one.type == HASH:
        hashes.assign_all(txn, key, [b"f", b"1", b"g", b"2"])
        if one.timed:
            field_times.expire(txn, key, txn.now_ms + 1000, field_times.ALWAYS, [b"f"])
    elif one.type == ZSET:
        zsets.add(txn, key, [(1.0, b"short"), (2.0, LONG)])
    elif one.type == LIST:
        lists.push(txn, key, [b"a", b"b"], left=False)
    elif one.type == SET:
        sets.add_all(txn, key, [b"a", b"b"])
    else:
        streams.append(txn, key, None, [b"f", b"v"])


def written(bench: Bench, one: Format, key: bytes = b"key") -> metas.Meta:
    txn = bench.txn()
    write(txn, one, key)
    txn.apply()
    bench.commit()
    meta = bench.txn().find(key)
    assert meta is not None
    return meta


def prefixes(bench: Bench, meta: metas.Meta) -> set[bytes]:
    """What the sub rows of a key begin with."""
    return {row[:2] for row in bench.rows() if meta.sub and row[2:].startswith(meta.sub[2:])}


def test_versions_count_up_from_0() -> None:
    for type_, versions in enumerate(FORMATS):
        assert [one.version for one in versions] == list(range(len(versions)))
        assert {one.type for one in versions} <= {type_}
    assert sum(map(len, FORMATS)) == len(TABLE)


def test_metas_know_the_formats_of_the_table_and_no_others() -> None:
    row = rows.meta_row(b"0:", b"key")
    for type_ in range(256):
        for version in range(256):
            raw = bytes((version, type_)) + bytes(16)
            try:
                metas.decode(row, 2, raw)
                is_known = True
            except Corrupt as error:
                is_known = b"unknown" not in error.text
            assert is_known == (formats.find(type_, version) is not None)


@pytest.mark.parametrize("one", IN_THE_STORE, ids=shown)
def test_a_key_has_the_rows_that_its_format_says(one: Format) -> None:
    bench = bench_for(one)
    meta = written(bench, one)
    assert meta.format is one
    assert prefixes(bench, meta) == set(one.stored)
    assert one.type == STRING or meta.counted == one.counted
    assert bench.problems() == []


@pytest.mark.parametrize("one", IN_THE_STORE, ids=shown)
def test_a_copy_has_the_format_and_the_rows_of_its_source(one: Format) -> None:
    bench = bench_for(one)
    source = written(bench, one)
    bench.keyspace.encodings = {}
    txn = bench.txn()
    copying.duplicate(txn, source, txn, b"copy")
    txn.apply()
    bench.commit()
    copy = bench.txn().find(b"copy")
    assert copy is not None
    assert copy.format is one
    assert prefixes(bench, copy) == set(one.stored)
    assert bench.problems() == []


@pytest.mark.parametrize("one", [one for one in TABLE if one.turns_into is not None], ids=shown)
def test_field_times_come_and_go_without_touching_the_count(one: Format) -> None:
    other = FORMATS[one.type][one.turns_into or 0]
    assert other.timed != one.timed
    assert other.counted == one.counted
    assert not one.timed or other.plain


def test_only_what_is_in_redis_alone_is_shown_as_rows_that_are_not_stored() -> None:
    for one in TABLE:
        assert (one.shown == one.stored) == (not one.remote)
        assert one.tiered or not one.remote
