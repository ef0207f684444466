"""`stratakv compare`: what differs between two servers, key by key."""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from stratakv.tools import selection
from stratakv.tools.comparison import Pair
from stratakv.tools.links import Failure, Link, LinkError, scan, sizes
from stratakv.tools.outcomes import shown
from stratakv.tools.places import LIVE_KEY
from stratakv.tools.progress import Bar, bar
from stratakv.tools.selection import Selection

KEYS_AT_ONCE: Final = 200
LOOKS: Final = 3
LOOK_SECONDS: Final = 0.2
"""A key that differs is looked at again: a write may have reached one server and not the other."""


def declare(commands: Any) -> None:
    """The subcommand and its options."""
    parser = commands.add_parser(
        "compare",
        help="tell what differs between two servers",
        description="Compare two servers key by key: types, values and expire-times. Exit code 1 if"
        " anything differs, 2 if a server cannot be asked.",
    )
    parser.add_argument("first", metavar="URL", help="redis://host:port")
    parser.add_argument("second", metavar="URL")
    selection.declare(parser)
    parser.add_argument(
        "--sample", type=int, metavar="N", help="only so many keys of each database, at random"
    )
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="differences shown (default: 100)"
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """0 if nothing differs, 1 if something does, 2 if that cannot be told."""
    try:
        differences = _compare(parsed)
    except LinkError as error:
        print(f"stratakv: {error}", file=sys.stderr)
        return 2
    print(f"{differences} differences" if differences else "no difference")
    return 1 if differences else 0


def _compare(parsed: argparse.Namespace) -> int:
    """Print what differs; returns how much."""
    chosen = selection.chosen(parsed)
    with closing(Link(parsed.first)) as first, closing(Link(parsed.second)) as second:
        pair = Pair(first, second)
        here, there = sizes(first), sizes(second)
        databases = sorted(here.keys() | there.keys())
        total = sum(here.values()) + sum(there.values())
        differences = 0
        with bar("comparing", None if parsed.sample else total, "keys") as progress:
            for line in _differences(pair, databases, chosen, parsed.sample, progress):
                differences += 1
                if differences <= parsed.limit:
                    print(line)
    if differences > parsed.limit:
        print(f"and {differences - parsed.limit} more")
    return differences


def _differences(
    pair: Pair, databases: list[int], chosen: Selection, sample: int | None, progress: Bar
) -> Iterator[str]:
    looked = 0
    for database in databases:
        if chosen.database not in (None, database):
            continue
        pair.select(database)
        for found in _keys(pair, chosen, sample):
            keys = [key for key in found if key != LIVE_KEY]
            for key, how in _settled(pair, keys).items():
                yield f"database {database}, key {shown(key)}: {how}"
            looked += len(keys)
            progress.move(looked, looked)
    if chosen.is_everything:
        ((here, there),) = pair.ask([("FUNCTION", "LIST", "WITHCODE")])
        is_known = not isinstance(here, Failure) and not isinstance(there, Failure)
        if is_known and sorted(map(repr, here)) != sorted(map(repr, there)):
            yield "the libraries of functions"


def _keys(pair: Pair, chosen: Selection, sample: int | None) -> Iterator[list[bytes]]:
    """Keys of the first, then those that the second alone has; or some of both."""
    if sample is not None:
        for link in (pair.first, pair.second):
            picked = set(link.pipeline([("RANDOMKEY",)] * sample)) - {None}
            yield [key for key in picked if chosen.matches(key)]
        return
    yield from scan(pair.first, chosen.pattern, KEYS_AT_ONCE)
    for keys in scan(pair.second, chosen.pattern, KEYS_AT_ONCE):
        there = pair.first.pipeline([("EXISTS", key) for key in keys])
        yield [key for key, count in zip(keys, there, strict=True) if not count]


def _settled(pair: Pair, keys: list[bytes]) -> dict[bytes, str]:
    """How keys differ that still do when they are looked at again."""
    found = pair.differing(keys) if keys else {}
    for _ in range(LOOKS - 1):
        if not found:
            break
        time.sleep(LOOK_SECONDS)
        found = pair.differing(list(found))
    return found
