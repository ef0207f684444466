"""The key-meta: exact bytes, round trips, and what counts as corruption."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import HASH, LIST, NO_EXPIRY, SET, STRING, ZSET, Extra, Meta
from stratakv.errors import Corrupt

NS = b"0:"
ROW = rows.meta_row(NS, b"key")
VERSION = 0x0102030405060708
COUNTED = [(HASH, 0), (HASH, 2), (SET, 0), (SET, 2), (ZSET, 0), (ZSET, 1), (ZSET, 2)]
UNCOUNTED = [(HASH, 1), (HASH, 3), (SET, 1), (SET, 3), (ZSET, 3)]


def made(kind: int, encoding: int, extra: Extra, expire_ms: int = NO_EXPIRY) -> Meta:
    sub = b"" if kind == STRING else rows.sub_prefix(ROW, len(NS), VERSION)
    return Meta(ROW, kind, encoding, VERSION, expire_ms, extra, sub)


def parts(meta: Meta) -> tuple[object, ...]:
    return (
        meta.row,
        meta.type,
        meta.encoding,
        meta.version,
        meta.expire_ms,
        meta.extra,
        meta.sub,
    )


@pytest.mark.parametrize(
    ("meta", "raw"),
    [
        (made(STRING, 0, b"value"), "00 01 0102030405060708 ffffffffffffffff 76616c7565"),
        (made(STRING, 0, b"", 1), "00 01 0102030405060708 0000000000000001"),
        (made(HASH, 0, 258), "00 02 0102030405060708 ffffffffffffffff 00000102"),
        (made(HASH, 1, None), "01 02 0102030405060708 ffffffffffffffff"),
        (made(ZSET, 0, 1), "00 03 0102030405060708 ffffffffffffffff 00000001"),
        (
            made(LIST, 0, ((1 << 63) - 1, (1 << 63) + 1)),
            "00 04 0102030405060708 ffffffffffffffff 7fffffffffffffff 8000000000000001",
        ),
        (made(SET, 0, 1), "00 05 0102030405060708 ffffffffffffffff 00000001"),
        (made(SET, 3, None, 1000), "03 05 0102030405060708 00000000000003e8"),
    ],
)
def test_the_bytes_of_each_type(meta: Meta, raw: str) -> None:
    encoded = bytes.fromhex(raw)
    assert metas.encode(meta) == encoded
    assert parts(metas.decode(ROW, len(NS), encoded)) == parts(meta)


@given(st.sampled_from(COUNTED), st.integers(0, 2**32 - 1), st.integers(-1, 2**63 - 1))
def test_counted_metas_come_out_as_they_went_in(
    kind: tuple[int, int], count: int, expire_ms: int
) -> None:
    meta = made(*kind, count, expire_ms)
    encoded = metas.encode(meta)
    assert encoded is not None
    decoded = metas.decode(ROW, len(NS), encoded)
    assert parts(decoded) == parts(meta)
    assert decoded.counted


@pytest.mark.parametrize("kind", UNCOUNTED)
def test_uncounted_metas_come_out_as_they_went_in(kind: tuple[int, int]) -> None:
    encoded = metas.encode(made(*kind, None))
    assert encoded is not None
    assert len(encoded) == 18
    assert not metas.decode(ROW, len(NS), encoded).counted


def test_an_absent_key_has_no_row() -> None:
    assert metas.encode(metas.absent(ROW)) is None


def test_the_names_of_a_sorted_set_s_rows_share_one_path() -> None:
    meta = made(ZSET, 0, 1)
    assert meta.sub[:2] == b"s#"
    assert (meta.order, meta.index) == (b"k#" + meta.sub[2:], b"i#" + meta.sub[2:])


def test_another_count_or_expire_time_is_the_same_incarnation() -> None:
    meta = made(SET, 0, 1)
    assert parts(meta.with_extra(2)) == parts(made(SET, 0, 2))
    assert parts(meta.with_expiry(5)) == parts(made(SET, 0, 1, 5))
    assert parts(meta) == parts(made(SET, 0, 1))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "shorter than 18 bytes"),
        (b"\0\x01" + bytes(15), "shorter than 18 bytes"),
        (b"\0\0" + bytes(16), "unknown type 0"),
        (b"\0\x07" + bytes(16), "unknown type 7"),
        (b"\0\x06" + bytes(16), "wrong length"),
        (b"\x01\x01" + bytes(16), "wrong length"),
        (b"\x02\x01" + bytes(16), "encode-version 2"),
        (b"\x06\x02" + bytes(20), "encode-version 6"),
        (b"\x01\x04" + bytes(32), "encode-version 1"),
        (b"\0\x02" + bytes(16), "wrong length"),
        (b"\0\x02" + bytes(21), "wrong length"),
        (b"\x01\x02" + bytes(20), "wrong length"),
        (b"\0\x04" + bytes(24), "wrong length"),
    ],
)
def test_corruption_is_an_error_that_names_the_key(raw: bytes, reason: str) -> None:
    with pytest.raises(Corrupt) as raised:
        metas.decode(ROW, len(NS), raw)
    assert b"'key'" in raised.value.text
    assert reason.encode() in raised.value.text


def test_no_number_has_changed_its_meaning() -> None:
    assert (STRING, HASH, ZSET, LIST, SET) == (1, 2, 3, 4, 5)
