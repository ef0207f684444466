"""Golden bytes: what known operations leave in a closed store, read with plyvel alone.

Written out by hand from the layout. A change here is a change of format: it needs a new
encode-version, not another expectation.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.types.hashes import field_times, hashes
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.streams import stream_groups, streams
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zsets
from tests.encodings.fixtures import commit_and_forget, level_bench, stored

# The clock stands at 1_700_000_000_000_000 us, so versions are ...4000, ...4001 and so on.
V0 = b"\x00\x06\x0a\x24\x18\x1e\x40\x00"
V1 = b"\x00\x06\x0a\x24\x18\x1e\x40\x01"
V2 = b"\x00\x06\x0a\x24\x18\x1e\x40\x02"
NEVER = b"\xff\xff\xff\xff\xff\xff\xff\xff"
IN_5_S = b"\x00\x00\x01\x8b\xcf\xe5\x7b\x88"
IN_6_S = b"\x00\x00\x01\x8b\xcf\xe5\x7f\x70"
ONE = b"\x00\x00\x00\x00\x00\x00\x00\x01"
NONE = b"\x00\x00\x00\x00\x00\x00\x00\x00"

# md5 of the keys, eight bytes each
GREETING = b"\x69\x9e\x03\x11\x09\x7c\x48\xb4"
USER = b"\xee\x11\xcb\xb1\x90\x52\xe4\x0b"
TAGS = b"\xd5\x7a\xc4\x52\x56\x84\x9d\x9b"
BOARD = b"\x11\x45\xf2\x63\x25\x6c\x92\x37"
QUEUE = b"\xa9\xd1\xcb\xf7\x19\x42\x32\x7e"

LOG = b"\xdc\x1d\x71\xbb\xb5\xc4\xd2\xa5"

STORE = {
    b"!format": b"\x00\x00\x00\x01",
    b"!version": b"\x00\x06\x0a\x24\x1b\xb1\xc7\x00",  # a minute ahead of the first version
}
ONE_KEY = {**STORE, b"n#0:": ONE, b"x#0:": NONE}


def set_string(txn: Txn) -> None:
    strings.assign(txn, b"greeting", b"hello")


def set_string_with_expiry(txn: Txn) -> None:
    strings.assign(txn, b"greeting", b"hello", txn.now_ms + 5000)


def set_string_twice(txn: Txn) -> None:
    set_string(txn)
    txn.apply()
    strings.append(txn, b"greeting", b" world")
    txn.apply()
    strings.assign(txn, b"greeting", b"")


def fill_long_string(txn: Txn) -> None:
    strings.overwrite(txn, b"greeting", 65534, b"hello")
    txn.apply()
    strings.overwrite(txn, b"greeting", 262144, b"world")


def replace_long_string(txn: Txn) -> None:
    strings.assign(txn, b"greeting", b"x" * 65537)
    txn.apply()
    strings.assign(txn, b"greeting", b"hello")


def fill_hash(txn: Txn) -> None:
    hashes.assign_all(txn, b"user", [b"name", b"Ada", b"born", b"1815", b"", b"\x00\xff"])
    txn.apply()
    hashes.remove(txn, b"user", [b"born"])


def give_fields_times(txn: Txn) -> None:
    hashes.assign_all(txn, b"user", [b"name", b"Ada", b"born", b"1815", b"seen", b"now"])
    txn.apply()
    always = field_times.CONDITIONS[b""]
    field_times.expire(txn, b"user", txn.now_ms + 5000, always, [b"seen"])
    txn.apply()
    field_times.expire(txn, b"user", txn.now_ms + 6000, always, [b"name"])


def fill_set(txn: Txn) -> None:
    sets.add_all(txn, b"tags", [b"red", b"", b"blue"])
    txn.apply()
    sets.remove(txn, b"tags", [b"blue"])


def fill_zset(txn: Txn) -> None:
    zsets.add(txn, b"board", [(2.5, b"ada"), (-1.0, b"bob"), (-0.0, b"eve")])
    txn.apply()
    zsets.increment(txn, b"board", -1.5, b"ada")


def fill_list(txn: Txn) -> None:
    lists.create(txn, b"queue", [b"first", b""])


def fill_stream(txn: Txn) -> None:
    for number in (1 << 64 | 1, 2 << 64, 2 << 64 | 3):
        streams.append(txn, b"log", number, [b"f", b"", b"name", b"Ada"])
    streams.delete(txn, b"log", [2 << 64])
    meta = txn.find(b"log")
    assert meta is not None
    stream_groups.create(txn, b"log", meta, b"team", 0, 0)
    group = stream_groups.find_in(txn, b"log", meta, b"team")
    assert group is not None
    group.see_consumer(b"ada")
    found = streams.between(txn, b"log", meta, limit=1)
    state = streams.decode_state(meta)
    stream_groups.deliver(group, state, b"ada", found, acknowledged=False)
    group.save()


def delete_set(txn: Txn) -> None:
    sets.add_all(txn, b"tags", [b"red"])
    commit_and_forget(txn)
    keys.delete(txn, (b"tags",))


def delete_known_set(txn: Txn) -> None:
    sets.add_all(txn, b"tags", [b"red", b"blue"])
    txn.apply()
    keys.delete(txn, (b"tags",))


def replace_set_by_hash(txn: Txn) -> None:
    sets.add_all(txn, b"tags", [b"red"])
    commit_and_forget(txn)
    strings.assign(txn, b"tags", b"x")
    txn.apply()
    keys.delete(txn, (b"tags",))
    txn.apply()
    hashes.assign_all(txn, b"tags", [b"f", b"v"])


GREETING_PATH = b"0:" + GREETING + b"\x00\x00\x00\x08greeting" + V0
USER_PATH = b"0:" + USER + b"\x00\x00\x00\x04user" + V0
TAGS_PATH = b"0:" + TAGS + b"\x00\x00\x00\x04tags"
BOARD_PATH = b"0:" + BOARD + b"\x00\x00\x00\x05board" + V0
QUEUE_PATH = b"0:" + QUEUE + b"\x00\x00\x00\x05queue" + V0
LOG_PATH = b"0:" + LOG + b"\x00\x00\x00\x03log" + V0
ID_1_1 = ONE + ONE
ID_2_0 = b"\x00\x00\x00\x00\x00\x00\x00\x02" + NONE
ID_2_3 = b"\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03"
NOW = b"\x00\x00\x01\x8b\xcf\xe5\x68\x00"
ENTRY = b"\x00\x00\x00\x01f\x00\x00\x00\x00\x00\x00\x00\x04name\x00\x00\x00\x03Ada"

CASES: list[tuple[str, dict[int, int], Callable[[Txn], None], dict[bytes, bytes]]] = [
    (
        "string",
        {},
        set_string,
        {**ONE_KEY, b"m#0:" + GREETING + b"greeting": b"\x00\x01" + V0 + NEVER + b"hello"},
    ),
    (
        "string with an expire-time",
        {},
        set_string_with_expiry,
        {
            **ONE_KEY,
            b"x#0:": ONE,
            b"m#0:" + GREETING + b"greeting": b"\x00\x01" + V0 + IN_5_S + b"hello",
            b"e#0:" + IN_5_S + b"greeting": b"",
        },
    ),
    (
        "string, changed and then set again",
        {},
        set_string_twice,
        {**ONE_KEY, b"m#0:" + GREETING + b"greeting": b"\x00\x01" + V0 + NEVER},
    ),
    (
        "string v1: pieces 0, 1 and 4 of five",
        {},
        fill_long_string,
        {
            **ONE_KEY,
            b"m#0:" + GREETING + b"greeting": b"\x01\x01"
            + V0
            + NEVER
            + b"\x00\x00\x00\x00\x00\x04\x00\x05",
            b"s#" + GREETING_PATH + b"\x00\x00\x00\x00": bytes(65534) + b"he",
            b"s#" + GREETING_PATH + b"\x00\x00\x00\x01": b"llo",
            b"s#" + GREETING_PATH + b"\x00\x00\x00\x04": b"world",
        },
    ),
    (
        "string v1, replaced by a short one, not yet reclaimed",
        {},
        replace_long_string,
        {
            **ONE_KEY,
            b"m#0:" + GREETING + b"greeting": b"\x00\x01" + V1 + NEVER + b"hello",
            b"g#0:" + V0 + b"greeting": b"\x01\x01\x00\x00\x00\x00\x00\x01\x00\x01",
            b"s#" + GREETING_PATH + b"\x00\x00\x00\x00": b"x" * 65536,
            b"s#" + GREETING_PATH + b"\x00\x00\x00\x01": b"x",
        },
    ),
    (
        "hash v0",
        {},
        fill_hash,
        {
            **ONE_KEY,
            b"m#0:" + USER + b"user": b"\x00\x02" + V0 + NEVER + b"\x00\x00\x00\x02",
            b"s#" + USER_PATH + b"name": b"Ada",
            b"s#" + USER_PATH: b"\x00\xff",
        },
    ),
    (
        "hash v1",
        {metas.HASH: 1},
        fill_hash,
        {
            **ONE_KEY,
            b"m#0:" + USER + b"user": b"\x01\x02" + V0 + NEVER,
            b"s#" + USER_PATH + b"name": b"Ada",
            b"s#" + USER_PATH: b"\x00\xff",
        },
    ),
    (
        "set v0",
        {},
        fill_set,
        {
            **ONE_KEY,
            b"m#0:" + TAGS + b"tags": b"\x00\x05" + V0 + NEVER + b"\x00\x00\x00\x02",
            b"s#" + TAGS_PATH + V0 + b"red": b"",
            b"s#" + TAGS_PATH + V0: b"",
        },
    ),
    (
        "set v1",
        {metas.SET: 1},
        fill_set,
        {
            **ONE_KEY,
            b"m#0:" + TAGS + b"tags": b"\x01\x05" + V0 + NEVER,
            b"s#" + TAGS_PATH + V0 + b"red": b"",
            b"s#" + TAGS_PATH + V0: b"",
        },
    ),
    (
        "zset v0",
        {},
        fill_zset,
        {
            **ONE_KEY,
            b"m#0:" + BOARD + b"board": b"\x00\x03" + V0 + NEVER + b"\x00\x00\x00\x03",
            b"s#" + BOARD_PATH + b"ada": b"\xbf\xf0\x00\x00\x00\x00\x00\x00",
            b"s#" + BOARD_PATH + b"bob": b"\x40\x0f\xff\xff\xff\xff\xff\xff",
            b"s#" + BOARD_PATH + b"eve": b"\x80\x00\x00\x00\x00\x00\x00\x00",
            b"k#" + BOARD_PATH + b"\x40\x0f\xff\xff\xff\xff\xff\xffbob": b"",
            b"k#" + BOARD_PATH + b"\x80\x00\x00\x00\x00\x00\x00\x00eve": b"",
            b"k#" + BOARD_PATH + b"\xbf\xf0\x00\x00\x00\x00\x00\x00ada": b"",
        },
    ),
    (
        "list v0",
        {},
        fill_list,
        {
            **ONE_KEY,
            b"m#0:" + QUEUE + b"queue": b"\x00\x04"
            + V0
            + NEVER
            + b"\x80\x00\x00\x00\x00\x00\x00\x00"
            + b"\x80\x00\x00\x00\x00\x00\x00\x02",
            b"s#" + QUEUE_PATH + b"\x80\x00\x00\x00\x00\x00\x00\x00": b"first",
            b"s#" + QUEUE_PATH + b"\x80\x00\x00\x00\x00\x00\x00\x01": b"",
        },
    ),
    (
        "hash v4: two fields have expire-times",
        {},
        give_fields_times,
        {
            **ONE_KEY,
            b"m#0:" + USER + b"user": b"\x04\x02" + V0 + NEVER + b"\x00\x00\x00\x03",
            b"s#" + USER_PATH + b"born": b"1815",
            b"s#" + USER_PATH + b"name": b"Ada",
            b"s#" + USER_PATH + b"seen": b"now",
            b"i#" + USER_PATH + b"name": IN_6_S,
            b"i#" + USER_PATH + b"seen": IN_5_S,
            b"k#" + USER_PATH + IN_5_S + b"seen": b"",
            b"k#" + USER_PATH + IN_6_S + b"name": b"",
            b"t#0:" + IN_5_S + V0 + b"user": b"",
        },
    ),
    (
        "stream v0 with a group",
        {},
        fill_stream,
        {
            **ONE_KEY,
            b"m#0:" + LOG + b"log": b"\x00\x06"
            + V0
            + NEVER
            + b"\x00\x00\x00\x00\x00\x00\x00\x02"  # length
            + ID_2_3  # last
            + ID_2_0  # max-deleted
            + b"\x00\x00\x00\x00\x00\x00\x00\x03"  # entries-added
            + ID_1_1  # first
            + ONE  # gone
            + b"\x00\x00\x00\x01",  # groups
            b"s#" + LOG_PATH + b"\x00" + ID_1_1: ENTRY,
            b"s#" + LOG_PATH + b"\x00" + ID_2_3: ENTRY,
            b"s#" + LOG_PATH + b"\x01team": ID_1_1
            + NEVER  # entries-read: unknown, since 2-0 was deleted
            + ONE  # pending
            + ID_1_1  # first pending
            + b"\x00\x00\x00\x01",  # consumers
            b"s#" + LOG_PATH + b"\x02\x00\x00\x00\x04teamada": NOW + ONE,
            b"s#" + LOG_PATH + b"\x03\x00\x00\x00\x04team" + ID_1_1: NOW + ONE + b"ada",
            b"s#" + LOG_PATH + b"\x04\x00\x00\x00\x04team\x00\x00\x00\x03ada" + ID_1_1: b"",
        },
    ),
    (
        "a deleted set, not yet reclaimed",
        {},
        delete_set,
        {
            **STORE,
            b"n#0:": NONE,
            b"x#0:": NONE,
            b"g#0:" + V0 + b"tags": b"\x05\x00",
            b"s#" + TAGS_PATH + V0 + b"red": b"",
        },
    ),
    (
        "a deleted set whose members were known",
        {},
        delete_known_set,
        {**STORE, b"n#0:": NONE, b"x#0:": NONE},
    ),
    (
        "a set, replaced by a string, deleted, and a hash",
        {metas.HASH: 1},
        replace_set_by_hash,
        {
            **ONE_KEY,
            b"m#0:" + TAGS + b"tags": b"\x01\x02" + V2 + NEVER,
            b"g#0:" + V0 + b"tags": b"\x05\x00",
            b"s#" + TAGS_PATH + V0 + b"red": b"",
            b"s#" + TAGS_PATH + V2 + b"f": b"v",
        },
    ),
]


@pytest.mark.parametrize(
    ("encodings", "operations", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_operations_leave_exactly_these_rows(
    tmp_path: Path,
    encodings: dict[int, int],
    operations: Callable[[Txn], None],
    expected: dict[bytes, bytes],
) -> None:
    bench = level_bench(tmp_path, encodings)
    txn = bench.txn()
    operations(txn)
    txn.apply()
    bench.commit()
    bench.engine.close()
    assert stored(tmp_path) == expected


def test_flushing_and_swapping_leave_exactly_these_rows(tmp_path: Path) -> None:
    bench = level_bench(tmp_path)
    txn = bench.txn()
    set_string(txn)
    txn.apply()
    bench.commit()
    bench.keyspace.flush(bench.database)
    bench.keyspace.swap(*bench.keyspace.databases[1:3])
    bench.commit()
    bench.engine.close()
    assert stored(tmp_path) == {
        **ONE_KEY,
        b"m#0:" + GREETING + b"greeting": b"\x00\x01" + V0 + NEVER + b"hello",
        b"n#0.a1:": NONE,
        b"x#0.a1:": NONE,
        b"d#0:": b"",
        b"!namespaces": ONE,
        b"!databases": b"0.a1,2,1,3,4,5,6,7,8,9,10,11,12,13,14,15",
    }
