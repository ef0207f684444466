"""Dump payloads without a server: the CRC, LZF, the compact forms, and what bad payloads do."""

import random
import struct
from collections.abc import Sequence

import pytest

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.rdb import lzf, packed, parts, payloads, reader, writer
from stratakv.encodings.rdb.crc64 import crc64
from stratakv.encodings.rdb.packed import Malformed
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.shared import member_rows
from stratakv.encodings.types.streams import stream_groups, streams
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zsets
from stratakv.errors import CommandError
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"key"


def nothing() -> None:
    """No pause."""


@pytest.fixture(params=[False, True], ids=["plain", "patient"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(MemoryEngine(), patient=request.param)


def sealed(kind: int, body: bytes) -> bytes:
    return bytes(payloads.seal(bytearray(bytes((kind,)) + body), nothing))


def text(value: bytes) -> bytes:
    return parts.encode_length(len(value)) + value


def content(txn: Txn) -> object:
    """What the key holds, whatever its type."""
    meta = txn.find(KEY)
    if meta is None:
        return None
    if meta.type == metas.STRING:
        return meta.value
    if meta.type == metas.LIST:
        return list(lists.elements(txn, meta))
    if meta.type == metas.ZSET:
        return sorted((row[len(meta.sub) :], row) for row in txn.scan_keys(*span(meta.sub)))
    return sorted(member_rows.each_pair(txn, meta))


def span(prefix: bytes) -> tuple[bytes, bytes]:
    return prefix, prefix + b"\xff" * 300


# checksums and compression


def slow_crc(data: bytes) -> int:
    """Bit by bit."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc


def test_the_check_value_of_the_crc() -> None:
    assert crc64(b"123456789") == 0xE9C6D914C4B8D9CA


@pytest.mark.parametrize("size", [0, 1, 7, 8, 4095, 4096, 4097, 9000])
def test_the_crc_of_any_length(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert crc64(data) == slow_crc(data) == crc64(memoryview(data))


def test_a_long_crc_gives_way() -> None:
    data = random.Random(1).randbytes(3 << 18)
    breaths: list[int] = []
    crc64(data + b"x", lambda: breaths.append(1))
    assert len(breaths) == 3


def test_a_crc_in_pieces_is_that_of_the_whole() -> None:
    data = random.Random(2).randbytes((1 << 18) + 9)
    assert crc64(data) == slow_crc(data) == crc64(bytearray(data))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x02abc", b"abc"),
        (b"\x00a\x20\x00", b"aaaa"),
        (b"\x02abc\x20\x02", b"abcabc"),
        (b"\x00a\xe0\xff\x00", b"a" * 265),
        (b"", b""),
    ],
)
def test_lzf(data: bytes, expected: bytes) -> None:
    assert lzf.decompress(data, len(expected), nothing) == expected
    assert lzf.decompress(data, len(expected) + 1, nothing) is None
    if expected:
        assert lzf.decompress(data, len(expected) - 1, nothing) is None


@pytest.mark.parametrize(
    "data", [b"\x05abc", b"\x20\x00", b"\x00a\x20", b"\x00a\xe0", b"\x00a\x20\x01"]
)
def test_broken_lzf(data: bytes) -> None:
    assert lzf.decompress(data, 4, nothing) is None


# the compact forms


def packed_ziplist(entries: Sequence[bytes]) -> bytes:
    """Entries are already encoded, without the length of the one before."""
    body, before, last = b"", 0, 10
    for entry in entries:
        head = bytes((before,)) if before < 254 else b"\xfe" + before.to_bytes(4, "little")
        last, before = 10 + len(body), len(head + entry)
        body += head + entry
    total = 11 + len(body)
    return struct.pack("<IIH", total, last, len(entries)) + body + b"\xff"


ZIPLIST_ENTRIES = {
    b"abc": b"\x03abc",
    b"": b"\x00",
    b"x" * 300: b"\x41\x2c" + b"x" * 300,
    b"y" * 20_000: b"\x80" + (20_000).to_bytes(4, "big") + b"y" * 20_000,
    b"0": b"\xf1",
    b"12": b"\xfd",
    b"-5": b"\xfe\xfb",
    b"1000": b"\xc0\xe8\x03",
    b"-100000": b"\xf0" + (-100_000).to_bytes(3, "little", signed=True),
    b"100000000": b"\xd0" + (100_000_000).to_bytes(4, "little"),
    b"-9223372036854775808": b"\xe0" + b"\0" * 7 + b"\x80",
}


def test_a_ziplist_of_every_kind_of_entry() -> None:
    data = packed_ziplist(list(ZIPLIST_ENTRIES.values()))
    assert list(packed.ziplist(data)) == list(ZIPLIST_ENTRIES)


def packed_listpack(entries: Sequence[bytes]) -> bytes:
    body = b"".join(entry + back_length(len(entry)) for entry in entries)
    return struct.pack("<IH", 7 + len(body), len(entries)) + body + b"\xff"


def back_length(size: int) -> bytes:
    """The length of an entry, seven bits a byte, to be read backwards."""
    if size <= 127:
        return bytes((size,))
    groups = 2 if size < 16383 else 3
    parts = [size >> 7 * number & 127 | 128 for number in range(groups)]
    parts[-1] &= 127
    return bytes(reversed(parts))


LISTPACK_ENTRIES = {
    b"0": b"\x00",
    b"127": b"\x7f",
    b"abc": b"\x83abc",
    b"": b"\x80",
    b"x" * 300: b"\xe1\x2c" + b"x" * 300,
    b"y" * 20_000: b"\xf0" + (20_000).to_bytes(4, "little") + b"y" * 20_000,
    b"-1": b"\xdf\xff",
    b"4095": b"\xcf\xff",
    b"-4096": b"\xd0\x00",
    b"-32768": b"\xf1\x00\x80",
    b"-100000": b"\xf2" + (-100_000).to_bytes(3, "little", signed=True),
    b"100000000": b"\xf3" + (100_000_000).to_bytes(4, "little"),
    b"-9223372036854775808": b"\xf4" + b"\0" * 7 + b"\x80",
}


def test_a_listpack_of_every_kind_of_entry() -> None:
    data = packed_listpack(list(LISTPACK_ENTRIES.values()))
    assert list(packed.listpack(data)) == list(LISTPACK_ENTRIES)


def test_listpacks_are_written_as_redis_writes_them() -> None:
    whole = packed_listpack(list(LISTPACK_ENTRIES.values()))
    assert packed.pack_listpack(list(LISTPACK_ENTRIES)) == whole


@pytest.mark.parametrize("width", [2, 4, 8])
def test_intsets(width: int) -> None:
    numbers = [-(1 << 8 * width - 1), -1, 0, 5, (1 << 8 * width - 1) - 1]
    raw = b"".join(number.to_bytes(width, "little", signed=True) for number in numbers)
    data = struct.pack("<II", width, len(numbers)) + raw
    assert list(packed.intset(data)) == [b"%d" % number for number in numbers]


def test_a_zipmap() -> None:
    long = b"v" * 300
    data = (
        b"\x02"
        + b"\x03foo\x03\x02bar.."
        + b"\x01k\xfe"
        + (300).to_bytes(4, "little")
        + b"\0"
        + long
    )
    assert list(packed.zipmap(data + b"\xff")) == [b"foo", b"bar", b"k", long]


@pytest.mark.parametrize("unpack", [packed.listpack, packed.ziplist, packed.zipmap, packed.intset])
def test_cut_or_spoilt_bytes_never_do_worse_than_raise(unpack: reader.Unpack) -> None:
    rng = random.Random(1)
    samples: dict[reader.Unpack, bytes] = {
        packed.listpack: packed_listpack(list(LISTPACK_ENTRIES.values())[:5]),
        packed.ziplist: packed_ziplist(list(ZIPLIST_ENTRIES.values())[:3]),
        packed.zipmap: b"\x02\x03foo\x03\x02bar..\x01k\x01\x00v\xff",
        packed.intset: struct.pack("<IIhh", 2, 2, 1, 2),
    }
    whole = samples[unpack]
    for size in range(len(whole)):
        with pytest.raises(Malformed):
            list(unpack(whole[:size]))
    for _ in range(300):
        spoilt = bytearray(whole)
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        try:
            list(unpack(bytes(spoilt)))
        except Malformed:
            continue


# payloads


@pytest.mark.parametrize("length", [0, 63, 64, 16383, 16384, (1 << 32) - 1, 1 << 32, (1 << 64) - 1])
def test_lengths_come_back(length: int) -> None:
    raw = parts.encode_length(length)
    assert parts.PayloadReader(raw, 0, nothing).length() == length


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        (b"0", b"\xc0\x00"),
        (b"-128", b"\xc0\x80"),
        (b"128", b"\xc1\x80\x00"),
        (b"-32769", b"\xc2\xff\x7f\xff\xff"),
        (b"2147483647", b"\xc2\xff\xff\xff\x7f"),
        (b"2147483648", b"\x0a2147483648"),
        (b"007", b"\x03007"),
        (b"", b"\x00"),
    ],
)
def test_strings_are_written_as_redis_writes_them(value: bytes, raw: bytes) -> None:
    assert parts.encode_string(value) == raw
    assert parts.PayloadReader(raw, 0, nothing).string() == value


PAIRS = packed_ziplist([b"\x01a", b"\xf2", b"\x01b", b"\x032.5"])
LISTPACKED_PAIRS = packed_listpack([b"\x81a", b"\x01", b"\x81b", b"\x832.5"])
ELEMENTS = packed_ziplist([b"\x01x", b"\xf6"])

OLDER: dict[str, tuple[bytes, object]] = {
    "list": (sealed(payloads.LIST, b"\x02\x01x\xc0\x05"), [b"x", b"5"]),
    "ziplist": (sealed(payloads.LIST_ZIPLIST, text(ELEMENTS)), [b"x", b"5"]),
    "ziplists": (sealed(payloads.LIST_ZIPLISTS, b"\x02" + text(ELEMENTS) * 2), [b"x", b"5"] * 2),
    "nodes": (
        sealed(payloads.LIST_NODES, b"\x02\x02" + text(packed_listpack([b"\x81x"])) + b"\x01\x015"),
        [b"x", b"5"],
    ),
    "zipmap": (
        sealed(payloads.HASH_ZIPMAP, text(b"\x01\x01f\x01\x00v\xff")),
        [(b"f", b"v")],
    ),
    "hash ziplist": (sealed(payloads.HASH_ZIPLIST, text(PAIRS)), [(b"a", b"1"), (b"b", b"2.5")]),
    "hash listpack": (
        sealed(payloads.HASH_LISTPACK, text(LISTPACKED_PAIRS)),
        [(b"a", b"1"), (b"b", b"2.5")],
    ),
    "intset": (
        sealed(payloads.SET_INTSET, text(struct.pack("<IIhh", 2, 2, -1, 7))),
        [(b"-1", b""), (b"7", b"")],
    ),
    "set listpack": (
        sealed(payloads.SET_LISTPACK, text(packed_listpack([b"\x81a", b"\x05"]))),
        [(b"5", b""), (b"a", b"")],
    ),
}

ZSETS = {
    "text": sealed(payloads.ZSET_TEXT, b"\x02\x01a\x011\x01b\x032.5"),
    "binary": sealed(
        payloads.ZSET, b"\x02\x01a" + struct.pack("<d", 1) + b"\x01b" + struct.pack("<d", 2.5)
    ),
    "ziplist": sealed(payloads.ZSET_ZIPLIST, text(PAIRS)),
    "listpack": sealed(payloads.ZSET_LISTPACK, text(LISTPACKED_PAIRS)),
}


@pytest.mark.parametrize("name", OLDER)
def test_every_type_is_read(bench: Bench, name: str) -> None:
    payload, expected = OLDER[name]
    bench.do(reader.restore, KEY, payload)
    assert bench.do(content) == expected


@pytest.mark.parametrize("name", ZSETS)
def test_every_type_of_sorted_sets_is_read(bench: Bench, name: str) -> None:
    bench.do(reader.restore, KEY, ZSETS[name])
    assert bench.do(zsets.scores, KEY, [b"a", b"b", b"c"]) == [1.0, 2.5, None]
    assert bench.do(zsets.rank, KEY, b"b") == 1


def test_the_infinities_of_old_sorted_sets(bench: Bench) -> None:
    bench.do(reader.restore, KEY, sealed(payloads.ZSET_TEXT, b"\x02\x01a\xfe\x01b\xff"))
    assert bench.do(zsets.scores, KEY, [b"a", b"b"]) == [float("inf"), float("-inf")]


BAD = {
    "unknown type": (6, b""),
    "no object": (payloads.STRING, b""),
    "cut string": (payloads.STRING, b"\x05abc"),
    "unknown string": (payloads.STRING, b"\xc4"),
    "unknown length": (payloads.LIST, b"\x82"),
    "LZF that is none": (payloads.STRING, b"\xc3\x02\x05\x20\x00"),
    "LZF of half a gigabyte": (payloads.STRING, b"\xc3\x02\x81\0\0\0\xff\0\0\0\0\x00a"),
    "empty list": (payloads.LIST, b"\x00"),
    "empty set": (payloads.SET, b"\x00"),
    "empty hash": (payloads.HASH, b"\x00"),
    "empty zset": (payloads.ZSET, b"\x00"),
    "empty nodes": (payloads.LIST_NODES, b"\x01\x02" + text(packed_listpack([]))),
    "unknown node": (payloads.LIST_NODES, b"\x01\x03\x01a"),
    "fewer elements than said": (payloads.LIST, b"\x03\x01a\x01b"),
    "a member twice": (payloads.SET, b"\x02\x01a\x01a"),
    "a field twice": (payloads.HASH, b"\x02\x01a\x01b\x01a\x01c"),
    "a scored member twice": (payloads.ZSET, b"\x02" + (b"\x01a" + bytes(8)) * 2),
    "a score that is no number": (payloads.ZSET, b"\x01\x01a" + struct.pack("<d", float("nan"))),
    "an old score that is no number": (payloads.ZSET_TEXT, b"\x01\x01a\xfd"),
    "a field without a value": (payloads.HASH_LISTPACK, text(packed_listpack([b"\x81a"]))),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_payloads_are_refused_and_change_nothing(bench: Bench, name: str) -> None:
    bench.do(strings.assign, KEY, b"as it was")
    with pytest.raises(CommandError) as caught:
        bench.do(reader.restore, KEY, sealed(*BAD[name]))
    assert caught.value.text == errors.BAD_DUMP
    bench.txn.discard()
    assert bench.do(strings.find, KEY) == b"as it was"


@pytest.mark.parametrize("payload", [b"", b"\x00\x01a", b"\x01" * 10, b"\x00\x01a" + bytes(10)])
def test_payloads_without_a_right_end_are_refused(bench: Bench, payload: bytes) -> None:
    with pytest.raises(CommandError) as caught:
        bench.do(reader.restore, KEY, payload)
    assert caught.value.text == errors.BAD_DUMP_FOOTER


def test_a_payload_of_a_later_version_is_refused(bench: Bench) -> None:
    raw = b"\x00\x01a" + (payloads.FIELD_TIMES_VERSION + 1).to_bytes(2, "little")
    with pytest.raises(CommandError) as caught:
        bench.do(reader.restore, KEY, raw + crc64(raw).to_bytes(8, "little"))
    assert caught.value.text == errors.BAD_DUMP_FOOTER


def test_random_changes_never_do_worse_than_an_error(bench: Bench) -> None:
    rng = random.Random(2)
    payloads = [payload for payload, _ in OLDER.values()] + list(ZSETS.values())
    payloads += [sealed(*stream) for stream in STREAMS.values()] * 4
    for _ in range(600):
        body = bytearray(rng.choice(payloads)[:-10])
        for _ in range(rng.randrange(1, 4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        try:
            bench.do(reader.restore, KEY, sealed(body[0], bytes(body[1:])))
        except CommandError as error:
            assert error.text == errors.BAD_DUMP  # noqa: PT017  # many bad ones are good by chance
            bench.txn.discard()


# streams


def id16(ms: int, seq: int) -> bytes:
    return ms.to_bytes(8, "big") + seq.to_bytes(8, "big")


NODE = [b"2", b"1", b"1", b"f", b"0"]
NODE += [b"2", b"0", b"0", b"one", b"4"]
NODE += [b"3", b"0", b"1", b"deleted", b"4"]
NODE += [b"0", b"1", b"-5", b"2", b"g", b"two", b"h", b"", b"8"]
NODES = b"\x01" + text(id16(5, 7)) + text(packed.pack_listpack(NODE))
ONE_PENDING = b"\x01" + id16(5, 7) + bytes(8) + b"\x03"
CONSUMER, OWNED = b"\x01\x01c" + (99).to_bytes(8, "little"), b"\x01" + id16(5, 7)
GROUP = b"\x01\x01g\x05\x07"
OLD_STREAM = NODES + b"\x02\x06\x02" + GROUP + ONE_PENDING + CONSUMER + OWNED
STATE = b"\x02\x06\x02\x05\x07\x05\x08\x03"
NEW_STREAM = NODES + STATE + GROUP + b"\x01" + ONE_PENDING + CONSUMER
STREAMS = {
    "before 7.0": (payloads.STREAM_OLD, OLD_STREAM),
    "7.0": (payloads.STREAM, NEW_STREAM + OWNED),
    "7.2": (payloads.STREAM_SEEN, NEW_STREAM + bytes(8) + OWNED),
}


def streamed(txn: Txn) -> tuple[object, ...]:
    """Entries, state, groups, pending entries and consumers of the key."""
    meta = txn.find(KEY)
    assert meta is not None
    groups = list(stream_groups.all_of(txn, KEY, meta))
    pending = [list(group.all_pending()) for group in groups]
    consumers = [
        [
            (one.name, one.seen_ms, one.pending, list(group.ids_of(one)))
            for one in group.all_consumers()
        ]
        for group in groups
    ]
    facts = [(group.name, group.last, group.read, group.pending) for group in groups]
    return (
        list(streams.between(txn, KEY, meta)),
        streams.decode_state(meta),
        facts,
        pending,
        consumers,
    )


@pytest.mark.parametrize("name", STREAMS)
def test_every_type_of_streams_is_read(bench: Bench, name: str) -> None:
    bench.do(reader.restore, KEY, sealed(*STREAMS[name]))
    entries, state, groups, pending, consumers = bench.do(lambda txn: [streamed(txn)])[0]
    first, last = 5 << 64 | 7, 6 << 64 | 2
    assert entries == [(first, [b"f", b"one"]), (last, [b"g", b"two", b"h", b""])]
    deleted, added = (0, 2) if name == "before 7.0" else (5 << 64 | 8, 3)
    assert state == streams.State(2, last, deleted, added, first, 0, 1)
    assert groups == [(b"g", first, 1, 1)]
    assert pending == [[stream_groups.Pending(first, b"c", 0, 3)]]
    assert consumers == [[(b"c", 99, 1, [first])]]


def test_a_stream_comes_back(bench: Bench) -> None:
    bench.do(reader.restore, KEY, sealed(*STREAMS["7.0"]))
    payload = bench.do(writer.dump, KEY)
    before = bench.do(lambda txn: [streamed(txn)])
    bench.do(reader.restore, KEY, payload)
    assert bench.do(lambda txn: [streamed(txn)]) == before


BAD_STREAMS = {
    "more entries than said": NODES + b"\x01" + STATE[1:] + b"\x00",
    "entries behind the last id": NODES + b"\x02\x05\x07" + STATE[3:] + b"\x00",
    "a node twice": b"\x02" + NODES[1:] * 2 + b"\x04" + STATE[1:] + b"\x00",
    "a node without an id": b"\x01" + text(b"short") + NODES[18:] + STATE + b"\x00",
    "a cut node": b"\x01"
    + text(id16(5, 7))
    + text(packed.pack_listpack(NODE[:-1]))
    + STATE
    + b"\x00",
    "a node of letters": b"\x01"
    + text(id16(5, 7))
    + text(packed.pack_listpack([b"a"] * 9))
    + STATE
    + b"\x00",
    "fewer fields than none": b"\x01"
    + text(id16(5, 7))
    + text(packed.pack_listpack([b"1", b"0", b"-1", b"0"])),
    "a group twice": NODES + STATE + (b"\x02" + (GROUP[1:] + b"\x01\x00\x00") * 2),
    "a pending entry without a consumer": NODES + STATE + GROUP + b"\x01" + ONE_PENDING + b"\x00",
    "a pending entry twice": NODES + STATE + GROUP + b"\x01\x02" + ONE_PENDING[1:] * 2 + b"\x00",
    "an entry that is not pending": NODES + STATE + GROUP + b"\x01\x00" + CONSUMER + OWNED,
    "a consumer twice": NODES + STATE + GROUP + b"\x01\x00\x02" + (CONSUMER[1:] + b"\x00") * 2,
}


@pytest.mark.parametrize("name", BAD_STREAMS)
def test_bad_streams_are_refused(bench: Bench, name: str) -> None:
    with pytest.raises(CommandError) as caught:
        bench.do(reader.restore, KEY, sealed(payloads.STREAM, BAD_STREAMS[name]))
    assert caught.value.text == errors.BAD_DUMP


def many_pending(count: int, owners: dict[bytes, range]) -> bytes:
    """A stream with a group of so many pending entries."""
    pending = b"".join(id16(9, number) + bytes(8) + b"\x02" for number in range(count))
    consumers = b"".join(
        text(name)
        + bytes(8)
        + parts.encode_length(len(owned))
        + b"".join(id16(9, number) for number in owned)
        for name, owned in owners.items()
    )
    head = NODES + STATE + GROUP + b"\x01" + parts.encode_length(count)
    return sealed(payloads.STREAM, head + pending + bytes((len(owners),)) + consumers)


@pytest.mark.slow
def test_very_many_pending_entries_come_back() -> None:
    bench = Bench(MemoryEngine(), patient=True)
    owners = {b"": range(7000), b"c": range(7000, 12_000), b"idle": range(0)}
    bench.do(reader.restore, KEY, many_pending(12_000, owners))
    payload = bench.do(writer.dump, KEY)
    _, _, groups, pending, consumers = bench.do(lambda txn: [streamed(txn)])[0]
    assert groups[0][3] == len(pending[0]) == 12_000
    assert {one.consumer for one in pending[0][:7000]} == {b""}
    assert {one.consumer for one in pending[0][7000:]} == {b"c"}
    assert [(name, count) for name, _, count, _ in consumers[0]] == [
        (b"", 7000),
        (b"c", 5000),
        (b"idle", 0),
    ]
    bench.do(reader.restore, b"copy", payload)
    assert bench.do(writer.dump, b"copy") == payload


@pytest.mark.slow
@pytest.mark.parametrize(
    "owners",
    [
        {b"c": range(11_999)},
        {b"c": range(12_000), b"d": range(5, 6)},
        {b"": range(12_000), b"d": range(5, 6)},
        {b"c": range(6000), b"": range(5999, 11_999)},
        {b"c": range(1, 12_001)},
    ],
    ids=["one is nobody's", "one is of two", "one is of two, one nameless", "the same", "unknown"],
)
def test_very_many_pending_entries_that_do_not_fit(owners: dict[bytes, range]) -> None:
    bench = Bench(MemoryEngine(), patient=True)
    with pytest.raises(CommandError) as caught:
        bench.do(reader.restore, KEY, many_pending(12_000, owners))
    assert caught.value.text == errors.BAD_DUMP


# round trips


def test_an_expire_time_is_set(bench: Bench) -> None:
    later = bench.clock.now_ms + 1000
    bench.do(reader.restore, KEY, OLDER["list"][0], later)
    meta = bench.meta(KEY)
    assert meta is not None
    assert meta.expire_ms == later


def test_what_has_expired_is_no_key(bench: Bench) -> None:
    bench.do(strings.assign, KEY, b"old")
    bench.do(reader.restore, KEY, OLDER["list"][0], bench.clock.now_ms - 1)
    assert bench.meta(KEY) is None


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [0, 1])
@pytest.mark.parametrize("count", [1, 10, 3000])
def test_collections_come_back(encoding: int, count: int) -> None:
    bench = Bench(MemoryEngine(), encoding=encoding)
    names = [b"m%d" % number for number in range(count)]
    bench.do(sets.add_all, b"set", names)
    bench.do(hashes.assign_all, b"hash", [word for name in names for word in (name, b"v" + name)])
    bench.do(zsets.add, b"zset", [(number / 7, name) for number, name in enumerate(names)])
    bench.do(lists.create, b"list", names)
    for key in (b"set", b"hash", b"zset", b"list"):
        payload = bench.do(writer.dump, key)
        bench.do(reader.restore, KEY, payload)
        assert bench.rows(KEY) == bench.rows(key)
        assert bench.do(writer.dump, KEY) == payload


def test_no_key_has_no_payload(bench: Bench) -> None:
    assert bench.do(writer.dump, b"absent") is None


def test_a_large_payload_gives_way() -> None:
    bench = Bench(MemoryEngine())
    bench.do(strings.assign, KEY, random.Random(1).randbytes(30_000_000))
    runs, pauses = bench.long_runs, bench.pauses
    payload = bench.do(writer.dump, KEY)
    assert bench.long_runs == runs + 1
    bench.do(reader.restore, b"copy", payload)
    assert bench.long_runs == runs + 2
    assert bench.pauses > pauses + 2
