"""Work in steps over a store whose rows may be far away."""

from collections.abc import Callable, Generator
from typing import TypeVar

from stratakv.storage.missing import Answers, Missing

T = TypeVar("T")


def at_hand(read: Callable[[], T]) -> Generator[bool, None, T]:
    """What `read` returns, run again when what it misses is there; yields True while it waits.

    Requires: it has done nothing when it raises `Missing`. Raises what makes it impossible.
    """
    answers = Answers()
    try:
        while True:
            try:
                return read()
            except Missing as missing:
                told: list[Exception | None] = []
                missing.ask(answers, told.append)
            while not told:
                yield True
            if told[0] is not None:
                raise told[0]
    finally:
        answers.close()
