"""Which keys are meant: `--db` and `--match`."""

import argparse
import os
from typing import Any

from stratakv.encodings.layout.globs import compile_glob


class Selection:
    """The keys of some databases whose names match a pattern."""

    def __init__(self, database: int | None = None, pattern: bytes | None = None) -> None:
        self.database = database
        self.pattern = pattern
        self._matches = None if pattern is None else compile_glob(pattern)

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self.database is None and self.pattern is None

    def __call__(self, database: int, key: bytes) -> bool:
        """Whether a key is meant."""
        return self.database in (None, database) and self.matches(key)

    def matches(self, key: bytes) -> bool:
        """Whether a key of this name is meant, in some database."""
        return self._matches is None or self._matches(key)


def declare(parser: Any) -> None:
    """The options of a command that can be told which keys it is for."""
    parser.add_argument("--match", metavar="GLOB", help="only keys whose names match")
    parser.add_argument("--db", type=int, metavar="N", help="only this database")


def chosen(parsed: argparse.Namespace) -> Selection:
    """What was chosen."""
    return Selection(parsed.db, None if parsed.match is None else os.fsencode(parsed.match))
