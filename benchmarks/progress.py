"""Shows how far a run is: a bar on a terminal, a line now and then elsewhere."""

import importlib.util
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

LINE_EVERY_S = 5.0


class Progress(Protocol):
    """Told of each step before it runs."""

    def step(self, text: str) -> None:
        """The step described by `text` begins."""


class PlainProgress:
    """A line on standard error at most every few seconds."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._printed_at = 0.0

    def step(self, text: str) -> None:
        """Count a step, and print it when the last line is old."""
        now = time.monotonic()
        if now - self._printed_at >= LINE_EVERY_S:
            print(f"[{self._done}/{self._total}] {text}", file=sys.stderr, flush=True)
            self._printed_at = now
        self._done += 1


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """A bar when standard error is a terminal and rich is installed, plain lines otherwise."""
    if not sys.stderr.isatty() or importlib.util.find_spec("rich") is None:
        yield PlainProgress(total)
        return
    with _bar(total) as bar:
        yield bar


@contextmanager
def _bar(total: int) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    text = TextColumn("{task.description}")
    with RichProgress(*columns, text, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        class Bar:
            """Moves the bar when the next step begins."""

            started = False

            def step(self, text: str) -> None:
                """The step described by `text` begins."""
                bar.update(task, description=text, advance=int(self.started))
                self.started = True

        yield Bar()
        bar.update(task, completed=total, description="done")
