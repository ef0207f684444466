"""Types of command-line arguments that the examples share: wrong usage is one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

import redis

DEFAULT_URL = "redis://127.0.0.1:6380"
Number = TypeVar("Number", int, float)


def redis_url(text: str) -> str:
    """The address of a server, as redis-py reads it; nothing is connected yet."""
    try:
        redis.Redis.from_url(text).close()
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(f"{text!r}: {wrong}") from None
    return text


def number(kind: Callable[[str], Number], low: Number, high: Number) -> Callable[[str], Number]:
    """A number from `low` to `high`."""

    def convert(text: str) -> Number:
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not from {low} to {high}")
        return value

    convert.__name__ = getattr(kind, "__name__", "number")
    return convert
