"""Whole dumps without a server: old data stay until the new are there, and nothing is trusted."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, repeat
from pathlib import Path
from time import perf_counter

import pytest

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.rdb import files, payloads
from stratakv.encodings.rdb.crc64 import crc64
from stratakv.encodings.rdb.files import BadFile
from stratakv.encodings.rdb.parts import encode_length
from stratakv.encodings.types.hashes import field_times, hashes
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.strings import strings
from stratakv.encodings.upkeep.check import check
from stratakv.encodings.upkeep.reclaim import Reclaimer
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.test_rdb import OLDER, STREAMS, ZSETS
from tests.harness.servers import ROOT
from tests.rdb import dumps

MIB = 1 << 20


@pytest.fixture
def keyspace() -> Keyspace:
    return dumps.opened(MemoryEngine())


def text(value: bytes) -> bytes:
    return encode_length(len(value)) + value


def sealed(*sections: bytes, version: bytes = b"0010") -> bytes:
    body = files.MAGIC + version + b"".join(sections) + bytes((files.END,))
    return body + crc64(body).to_bytes(8, "little")


def entry(key: bytes, kind: int, body: bytes) -> bytes:
    return bytes((kind,)) + text(key) + body


def assign(keyspace: Keyspace, key: bytes, value: bytes, database: int = 0) -> None:
    txn = Txn(keyspace, keyspace.databases[database])
    strings.assign(txn, key, value)
    txn.apply()
    dumps.commit(keyspace)


def value(keyspace: Keyspace, key: bytes, database: int = 0) -> object:
    return strings.find(Txn(keyspace, keyspace.databases[database]), key)


def reclaim(keyspace: Keyspace) -> None:
    reclaimer = Reclaimer(keyspace)
    while reclaimer.work(perf_counter() + 1):
        dumps.commit(keyspace)
    while (found := reclaimer.next_compaction()) is not None:
        reclaimer.compacted(found)
    dumps.commit(keyspace)


def problems(keyspace: Keyspace) -> list[str]:
    return [str(problem) for problem in check(keyspace.store.engine)]


# loading


def test_what_is_loaded_takes_the_place_of_all_that_was(keyspace: Keyspace) -> None:
    assign(keyspace, b"old", b"0")
    assign(keyspace, b"old", b"2", 2)
    select = bytes((files.SELECT, 1))
    dump = sealed(entry(b"a", 0, text(b"x")), select, entry(b"b", 0, text(b"y")))
    dumps.load(keyspace, [dump], {b"!replication": b"id"})
    assert [value(keyspace, key) for key in (b"old", b"a")] == [None, b"x"]
    assert value(keyspace, b"b", 1) == b"y"
    assert value(keyspace, b"old", 2) is None
    assert [database.live for database in keyspace.databases[:3]] == [1, 1, 0]
    assert keyspace.store.get(b"!replication") == b"id"
    reclaim(keyspace)
    keyspace.store.engine.write({b"!replication": None})
    assert not problems(keyspace)
    again = dumps.opened(keyspace.store.engine)
    assert value(again, b"a") == b"x"
    assert not again.namespaces.dropped


def test_the_old_is_served_while_the_new_is_loaded(keyspace: Keyspace) -> None:
    assign(keyspace, b"key", b"old")
    seen: list[object] = []

    def chunks() -> Iterator[bytes]:
        for piece in dumps.cut(sealed(entry(b"key", 0, text(b"new" * 3000))), 100):
            yield piece
            seen.append(value(keyspace, b"key"))
            assign(keyspace, b"other", b"written meanwhile")

    load = dumps.begun(keyspace)
    load.run(chunks())
    assert set(seen) == {b"old"}
    assert value(keyspace, b"other") == b"written meanwhile"
    load.put_in_place({})
    dumps.commit(keyspace)
    assert value(keyspace, b"key") == b"new" * 3000
    assert value(keyspace, b"other") is None


def test_what_is_dropped_goes_to_the_reclaimer(keyspace: Keyspace) -> None:
    assign(keyspace, b"key", b"old")
    load = dumps.begun(keyspace)
    members = b"".join(text(b"m%d" % number) for number in range(5000))
    with pytest.raises(BadFile):
        load.run(iter([sealed(entry(b"set", payloads.SET, encode_length(6000) + members))]))
    before = len(list(keyspace.store.engine.scan(b"", rows.END)))
    load.drop()
    reclaim(keyspace)
    assert before > 4000
    assert len(list(keyspace.store.engine.scan(b"", rows.END))) < 20
    assert value(keyspace, b"key") == b"old"
    assert not problems(keyspace)


def test_a_failed_commit_of_others_does_not_take_what_is_being_loaded(keyspace: Keyspace) -> None:
    load = dumps.begun(keyspace)

    def chunks() -> Iterator[bytes]:
        dump = sealed(entry(b"a", 0, text(b"1")), entry(b"b", 0, text(b"2" * 100)))
        yield dump[:-20]
        keyspace.abandon()
        reclaim(keyspace)
        yield dump[-20:]

    load.run(chunks())
    load.put_in_place({})
    dumps.commit(keyspace)
    assert [value(keyspace, key) for key in (b"a", b"b")] == [b"1", b"2" * 100]


def test_what_follows_a_dump_is_left(keyspace: Keyspace) -> None:
    dump = sealed(entry(b"a", 0, text(b"1")))
    assert dumps.load(keyspace, [dump + b"*1\r\n$4\r\nPING\r\n"]).rest == b"*1\r\n$4\r\nPING\r\n"


@pytest.mark.parametrize("size", [1, 7, 100])
def test_chunks_of_any_size(keyspace: Keyspace, size: int) -> None:
    entries = [entry(b"k%d" % number, 0, text(b"v%d" % number)) for number in range(50)]
    dumps.load(keyspace, dumps.cut(sealed(*entries), size))
    assert [value(keyspace, b"k%d" % number) for number in range(50)] == [
        b"v%d" % number for number in range(50)
    ]


def test_all_that_dumps_of_any_version_have(keyspace: Keyspace) -> None:
    ours = {**{name: one for name, (one, _) in OLDER.items()}, **ZSETS}
    older = [entry(name.encode(), raw[0], raw[1:-10]) for name, raw in ours.items()]
    streams = [entry(name.encode(), *one) for name, one in STREAMS.items()]
    module = encode_length(0x123456789ABCDEF) + b"\x01\x05\x02\x06\x03ffff\x04dddddddd\x05\x01s\x00"
    rare = [
        bytes((files.AUX,)) + text(b"name") + text(b"value"),
        bytes((files.MODULE_FACTS,)) + module,
        bytes((files.SIZES,)) + b"\x05\x01",
        bytes((files.SLOT,)) + b"\x05\x01\x00",
        bytes((files.IDLE,)) + b"\x05" + entry(b"idle", 0, b"\x01a"),
        bytes((files.FREQUENCY,)) + b"\x05" + entry(b"frequent", 0, b"\x01a"),
        bytes((files.EXPIRE_S,)) + (2_000_000_000).to_bytes(4, "little") + entry(b"s", 0, b"\x01a"),
    ]
    load = dumps.load(keyspace, [sealed(*rare, *older, *streams, version=b"0012")])
    assert load.file is not None
    assert load.file.facts == {b"name": b"value"}
    assert keyspace.databases[0].live == 3 + len(older) + len(streams)
    meta = Txn(keyspace, keyspace.databases[0]).find(b"s")
    assert meta is not None
    assert meta.expire_ms == 2_000_000_000_000
    assert not problems(keyspace)


def test_functions_are_those_of_the_dump(keyspace: Keyspace) -> None:
    keyspace.store.engine.write({rows.LIBRARY + b"old": b"#!lua name=old\n"})
    code = b"#!lua name=new\n"
    dumps.load(keyspace, [sealed(bytes((files.LIBRARY,)) + text(code))])
    span = rows.LIBRARY, rows.end_of(rows.LIBRARY)
    assert list(keyspace.store.scan(*span)) == [(rows.LIBRARY + b"new", code)]


def test_times_of_fields_come_back(keyspace: Keyspace) -> None:
    txn = Txn(keyspace, keyspace.databases[0])
    hashes.assign_all(txn, b"hash", [b"a", b"1", b"b", b"2", b"c", b"3"])
    later = keyspace.clock.now_ms + 100_000
    field_times.expire(txn, b"hash", later, field_times.ALWAYS, [b"b"])
    field_times.expire(txn, b"hash", later + 5, field_times.ALWAYS, [b"c"])
    txn.apply()
    dump = b"".join(dumps.written(keyspace))
    assert dump.startswith(b"REDIS0012")
    dumps.load(keyspace, [dump])
    txn = Txn(keyspace, keyspace.databases[0])
    assert field_times.times(txn, b"hash", [b"a", b"b", b"c"]) == [-1, later, later + 5]
    assert not problems(keyspace)


def test_a_dump_tells_what_it_is_told(keyspace: Keyspace) -> None:
    dump = b"".join(dumps.written(keyspace))
    load = dumps.load(keyspace, [dump])
    assert load.file is not None
    assert load.file.facts == {k.encode(): v.encode() for k, v in dumps.TOLD.items()}


def test_a_dump_is_of_the_moment_of_its_snapshot(keyspace: Keyspace) -> None:
    assign(keyspace, b"key", b"before")
    chunks = dumps.written(keyspace)
    first = next(chunks)
    assign(keyspace, b"key", b"after")
    keyspace.flush(keyspace.databases[0])
    dumps.commit(keyspace)
    reclaim(keyspace)
    dumps.load(keyspace, chain([first], chunks))
    assert value(keyspace, b"key") == b"before"


# what is bad


GOOD = entry(b"good", 0, text(b"value"))
BAD = {
    "nothing": (b"", "the dump ends before it is complete, at byte 0"),
    "another file": (b"SQLite format 3\0", "no dump of Redis"),
    "a version of letters": (b"REDIS00x0", "no dump of Redis"),
    "a later version": (sealed(version=b"0013"), "RDB version 13 is not known"),
    "an older version": (sealed(version=b"0004"), "RDB version 4 is not known"),
    "a wrong CRC": (sealed(GOOD)[:-1] + b"\x55", "the CRC is wrong"),
    "no end": (sealed(GOOD)[:-9], "the dump ends before it is complete"),
    "half a CRC": (sealed(GOOD)[:-4], "the dump ends before it is complete"),
    "half a value": (sealed(GOOD)[:-12], "the dump ends before it is complete"),
    "an unknown type": (sealed(entry(b"k", 99, b"")), "key 'k' (type 99) is malformed, at byte"),
    "an old library": (sealed(bytes((files.OLD_LIBRARY,))), "functions of a preview"),
    "a library without a name": (
        sealed(bytes((files.LIBRARY,)) + text(b"return 1")),
        "a library of functions has no name",
    ),
    "a database too many": (
        sealed(bytes((files.SELECT, 16)), GOOD),
        "there is a database 16, and 16 are configured",
    ),
    "a key twice": (sealed(GOOD, GOOD), "key 'good' (type 0) is malformed"),
    "a length of nonsense": (
        sealed(entry(b"k", payloads.LIST, b"\x01\x81" + b"\xff" * 8)),
        "key 'k' (type 1) is malformed",
    ),
    "a value of a module": (
        sealed(entry(b"k", files.MODULE, encode_length(0x4D5E9D0C_7A8F_0401) + b"\x00")),
        "key 'k' is a value of the module ",
    ),
    "a value of an old module": (
        sealed(entry(b"k", files.OLD_MODULE, b"")),
        "a module's value of before Redis 4.0",
    ),
    "a time before all time": (
        sealed(bytes((files.EXPIRE_MS,)) + b"\xff" * 7 + b"\x80", GOOD),
        "a section is malformed",
    ),
    "a member twice": (
        sealed(entry(b"k", payloads.SET, b"\x02\x01a\x01a")),
        "key 'k' (type 2) is malformed",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_dump_is_named_and_changes_nothing(keyspace: Keyspace, name: str) -> None:
    assign(keyspace, b"old", b"value")
    dump, expected = BAD[name]
    load = dumps.begun(keyspace)
    with pytest.raises(BadFile) as caught:
        load.run(dumps.cut(dump, 5))
    load.drop()
    assert expected in str(caught.value)
    assert str(caught.value).endswith(f", at byte {caught.value.position}")
    assert caught.value.position <= len(dump)
    reclaim(keyspace)
    assert value(keyspace, b"old") == b"value"
    assert keyspace.databases[0].live == 1
    assert not problems(keyspace)


def test_a_module_is_named() -> None:
    assert files.module_name(0x2C8B1F2A9D3C0001) == files.module_name(0x2C8B1F2A9D3C0002)
    letters = [files._NAME_LETTERS.index(letter) for letter in "ReJSON-RL"]
    number = 0
    for letter in letters:
        number = number << 6 | letter
    assert files.module_name(number << 10 | 3) == "ReJSON-RL"


def test_a_member_twice_among_very_many(keyspace: Keyspace) -> None:
    members = [text(b"m%d" % number) for number in range(20_000)]
    body = encode_length(20_001) + b"".join(members) + members[7]
    load = dumps.begun(keyspace)
    with pytest.raises(BadFile, match="malformed"):
        load.run(iter([sealed(entry(b"k", payloads.SET, body))]))


def test_damage_anywhere_is_an_error_and_nothing_worse(keyspace: Keyspace) -> None:
    assign(keyspace, b"old", b"value")
    rng = random.Random(3)
    ours = {**{name: one for name, (one, _) in OLDER.items()}, **ZSETS}
    older = [entry(name.encode(), raw[0], raw[1:-10]) for name, raw in ours.items()]
    whole = sealed(*older, *(entry(name.encode(), *one) for name, one in STREAMS.items()))
    for _ in range(400):
        spoilt = bytearray(whole)
        for _ in range(rng.randrange(1, 3)):
            spoilt[rng.randrange(len(spoilt) - 8)] ^= 1 << rng.randrange(8)
        load = dumps.begun(keyspace)
        with pytest.raises(BadFile):
            load.run(iter([bytes(spoilt)]))
        load.drop()
    assert value(keyspace, b"old") == b"value"


# bounds


def test_a_list_of_very_many_elements_is_not_held(tmp_path: Path) -> None:
    count = 300_000
    element = text(b"e" * 100)
    head = files.MAGIC + b"0010" + entry(b"list", payloads.LIST, encode_length(count))
    tail = bytes((files.END,)) + bytes(8)
    with closing(LevelEngine(tmp_path / "store")) as engine:
        keyspace = dumps.opened(engine)
        elements = repeat(element * 500, count // 500)
        tracemalloc.start()
        try:
            dumps.load(keyspace, chain([head], elements, [tail]))
            written = sum(map(len, dumps.written(keyspace)))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        txn = Txn(keyspace, keyspace.databases[0])
        assert lists.length(txn, b"list") == count
    assert written > 25 * MIB
    assert peak < 8 * MIB


def test_a_long_string_is_not_held(tmp_path: Path) -> None:
    size = 64 * MIB
    head = files.MAGIC + b"0010" + entry(b"long", payloads.STRING, encode_length(size))
    with closing(LevelEngine(tmp_path / "store")) as engine:
        keyspace = dumps.opened(engine)
        tracemalloc.start()
        try:
            pieces = repeat(b"x" * 65536, size // 65536)
            dumps.load(keyspace, chain([head], pieces, [bytes((files.END,)) + bytes(8)]))
            written = sum(map(len, dumps.written(keyspace)))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert written > size
    assert peak < 8 * MIB


def test_chunks_are_small_whatever_they_hold(keyspace: Keyspace) -> None:
    assign(keyspace, b"long", b"x" * 700_000)
    txn = Txn(keyspace, keyspace.databases[0])
    sets.add_all(txn, b"set", [b"m" * 60_000, b"n" * 300_000])
    txn.apply()
    assert max(map(len, dumps.written(keyspace))) <= 1 << 16


# crashes


@pytest.mark.slow
def test_kill9_in_the_middle_of_a_load_leaves_the_old_data(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    with closing(LevelEngine(directory)) as engine:
        assign(dumps.opened(engine), b"old", b"value")
    entries = [entry(b"k%d" % number, 0, text(b"v" * 50)) for number in range(20_000)]
    dump = tmp_path / "dump.rdb"
    dump.write_bytes(sealed(*entries))
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.rdb.half_load", directory, dump],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"halfway\n"
    child.kill()
    child.wait()
    child.stdout.close()
    with closing(LevelEngine(directory)) as engine:
        keyspace = dumps.opened(engine)
        assert value(keyspace, b"old") == b"value"
        assert len(keyspace.namespaces.dropped) == 1
        reclaim(keyspace)
        assert not keyspace.namespaces.dropped
        assert len(list(engine.scan(b"", rows.END))) < 20
        assert not problems(keyspace)
