"""What is not at hand: how a command says so, and how it is run again.

Whoever needs what is not at hand raises `Missing`. The command has then done nothing yet: it is
asked for, without holding anybody up, and the command is run again when it is there
(proxy/run/retries.py). Rows and ranges of an engine that is far away are missing, and replies of
the Redis tier; what lies on the way to the next row of an embedded engine never is.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from stratakv.storage.at_hand import HeldSpan

Then = Callable[[Exception | None], None]
"""Called once it is at hand, with None; with `TooLong` if the command has to go the long way, and
with any other error if it cannot be had."""


class TooLong(Exception):
    """The command needs more than one turn of the loop allows: run it over a LongTxn."""


class Answers:
    """What was found out for one command, which is run again with it; lives as long."""

    __slots__ = ("held", "rounds", "spans")

    def __init__(self) -> None:
        self.rounds = 0
        """How often something was missing."""
        self.held: list[Callable[[], None]] = []
        """Lets go of what is kept at hand for the command."""
        self.spans: list[HeldSpan] = []
        """Ranges that are kept at hand for it."""

    def close(self) -> None:
        """The command has ended, or goes another way."""
        held, self.held = self.held, []
        self.spans = []
        for let_go in held:
            let_go()


class Missing(TooLong):
    """Something is not at hand."""

    most_rounds: ClassVar[int] = 0
    """A command that was run so often in vain goes the long way. (mypyc sets no defaults of
    exceptions: hence ClassVar.)"""
    stays_true: ClassVar[bool] = False
    """What is fetched follows what is written until it is let go of, so it may be used later."""

    def serves(self, is_write: bool) -> bool:
        """Whether it is of use to run such a command again; else it goes the long way at once."""
        return True

    def foresee(self, rows: Callable[[Sequence[bytes]], list[bytes]]) -> None:
        """If it is rows that are missing: those that are given for them will probably be next."""

    def ask(self, answers: Answers, then: Then) -> None:
        """Have it asked for, and kept with the answers; `then` may be called at once."""
        raise NotImplementedError
