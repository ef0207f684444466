"""What a comparison takes for the same contents, whatever the servers' versions write."""

from __future__ import annotations

import pytest

from stratakv.tools.comparison import comparable


@pytest.mark.parametrize(
    ("kind", "here", "there"),
    [
        (b"zset", [b"a", b"0.1", b"b", b"inf"], [b"a", b"0.10000000000000001", b"b", b"inf"]),
        (b"zset", [b"a", b"1e+17"], [b"a", b"1e17"]),
        (b"zset", [b"a", b"100000000000000000"], [b"a", b"1e+17"]),
        (b"set", [b"a", b"b"], [b"b", b"a"]),
        (b"hash", [b"a", b"1", b"b", b"2"], [b"b", b"2", b"a", b"1"]),
    ],
)
def test_spelling_and_order_say_nothing(kind: bytes, here: list[bytes], there: list[bytes]) -> None:
    assert comparable(kind, here) == comparable(kind, there)


@pytest.mark.parametrize(
    ("kind", "here", "there"),
    [
        (b"zset", [b"a", b"0.1"], [b"a", b"0.10000000000000002"]),
        (b"zset", [b"a", b"inf"], [b"a", b"-inf"]),
        (b"hash", [b"a", b"0.1"], [b"a", b"0.10000000000000001"]),
        (b"list", [b"a", b"b"], [b"b", b"a"]),
    ],
)
def test_what_differs_differs(kind: bytes, here: list[bytes], there: list[bytes]) -> None:
    assert comparable(kind, here) != comparable(kind, there)
