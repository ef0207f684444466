"""Row keys: exact bytes, round trips, order."""

from __future__ import annotations

import math
import struct
from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratakv.encodings.layout import rows

NS = b"0:"
KEYS = st.binary(max_size=40)
VERSIONS = st.integers(0, 2**64 - 1)


def test_the_rows_of_a_known_key() -> None:
    assert md5(b"abc").hexdigest().startswith("900150983cd24fb0")
    h8 = b"\x90\x01\x50\x98\x3c\xd2\x4f\xb0"
    assert rows.h8(b"abc") == h8
    row = rows.meta_row(NS, b"abc")
    assert row == b"m#0:" + h8 + b"abc"
    path = b"0:" + h8 + b"\0\0\0\x03abc" + b"\0\0\0\0\0\0\x01\x02"
    assert rows.sub_prefix(row, len(NS), 0x102) == b"s#" + path
    assert rows.expiry_row(NS, 0x1234, b"abc") == b"e#0:\0\0\0\0\0\0\x12\x34abc"
    assert rows.garbage_row(NS, 0x1234, b"abc") == b"g#0:\0\0\0\0\0\0\x12\x34abc"
    assert rows.sequence(1 << 63) == b"\x80\0\0\0\0\0\0\0"


@given(KEYS, VERSIONS, KEYS)
def test_a_row_s_parts_come_out_as_they_went_in(key: bytes, version: int, member: bytes) -> None:
    row = rows.meta_row(NS, key)
    assert rows.key_of_meta_row(NS, row) == key
    assert rows.hash_of_meta_row(NS, row) == int.from_bytes(rows.h8(key), "big")
    assert rows.parse_expiry_row(NS, rows.expiry_row(NS, version, key)) == (version, key)
    assert rows.parse_garbage_row(NS, rows.garbage_row(NS, version, key)) == (version, key)
    sub = rows.sub_prefix(row, len(NS), version)
    assert rows.parse_path(NS, sub + member) == (key, version)


@pytest.mark.parametrize("cut", [1, 4, 8, 12, 20])
def test_a_sub_row_that_is_too_short_is_no_sub_row(cut: int) -> None:
    sub = rows.sub_prefix(rows.meta_row(NS, b"abc"), len(NS), 1)
    assert rows.parse_path(NS, sub[:-cut]) is None


def test_a_sub_row_with_another_key_s_hash_is_no_sub_row() -> None:
    sub = rows.sub_prefix(rows.meta_row(NS, b"abc"), len(NS), 1)
    assert rows.parse_path(NS, sub.replace(b"abc", b"abd")) is None


@given(KEYS, KEYS, VERSIONS, VERSIONS)
def test_no_incarnation_s_rows_lie_within_another_s(
    one: bytes, other: bytes, version: int, later: int
) -> None:
    first = rows.sub_prefix(rows.meta_row(NS, one), len(NS), version)
    second = rows.sub_prefix(rows.meta_row(NS, other), len(NS), later)
    if (one, version) != (other, later):
        assert not first.startswith(second)


def test_no_namespace_s_rows_lie_within_another_s() -> None:
    assert not rows.meta_row(b"db:", b"k").startswith(b"m#d:")
    assert not rows.meta_row(b"1:", b"k").startswith(b"m#10:")


@given(st.binary(min_size=1, max_size=8), st.binary(max_size=8))
def test_the_end_of_a_prefix_is_behind_all_its_rows(prefix: bytes, rest: bytes) -> None:
    if prefix.strip(b"\xff"):
        end = rows.end_of(prefix)
        assert prefix + rest < end
        assert not end.startswith(prefix)


@pytest.mark.parametrize(
    ("prefix", "end"), [(b"a", b"b"), (b"a\xff", b"b"), (b"a\xff\xff", b"b"), (b"a\x00", b"a\x01")]
)
def test_the_end_of_a_prefix_is_the_first_row_behind(prefix: bytes, end: bytes) -> None:
    assert rows.end_of(prefix) == end


@pytest.mark.parametrize(
    ("score", "raw"),
    [
        (0.0, "8000000000000000"),
        (-0.0, "8000000000000000"),
        (1.0, "bff0000000000000"),
        (-1.0, "400fffffffffffff"),
        (2.5, "c004000000000000"),
        (math.inf, "fff0000000000000"),
        (-math.inf, "000fffffffffffff"),
        (5e-324, "8000000000000001"),
        (-5e-324, "7ffffffffffffffe"),
        (1.7976931348623157e308, "ffefffffffffffff"),
    ],
)
def test_score8_of_edge_values(score: float, raw: str) -> None:
    assert rows.encode_score(score).hex() == raw
    assert rows.decode_score(bytes.fromhex(raw)) == score


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_scores_sort_as_bytes(one: float, other: float) -> None:
    first, second = rows.encode_score(one), rows.encode_score(other)
    assert (one < other) == (first < second)
    assert (one == other) == (first == second)
    assert rows.decode_score(first) == one


def test_minus_zero_is_stored_as_zero() -> None:
    assert struct.pack(">d", rows.decode_score(rows.encode_score(-0.0))) == bytes(8)


def test_short_members_are_their_own_index_and_long_ones_a_hash() -> None:
    assert rows.index_of(b"") == b"\x00"
    assert rows.index_of(b"x" * 14) == b"\x00" + b"x" * 14
    assert rows.index_of(b"x" * 15) == b"\x01" + md5(b"x" * 15).digest()
    assert len(rows.index_of(b"x" * 1000)) == 17


@given(KEYS)
def test_a_scan_from_a_hash_s_position_begins_at_its_key(key: bytes) -> None:
    row = rows.meta_row(NS, key)
    position = rows.hash_of_meta_row(NS, row)
    assert rows.meta_rows_from(NS, position) <= row
    if position + 1 < 2**64:
        assert row < rows.meta_rows_from(NS, position + 1)


def test_namespaces_sort_in_the_order_they_were_made() -> None:
    names = [rows.namespace(3, number) for number in (*range(1, 1200), 10**9, 2**64 - 1)]
    assert names == sorted(names)
    assert names[0] == b"3.a1:"
