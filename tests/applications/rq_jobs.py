"""What the RQ worker of test_rq.py imports and calls."""

from __future__ import annotations


def multiply(left: int, right: int) -> int:
    return left * right


def fail(reason: str) -> None:
    raise ValueError(reason)
