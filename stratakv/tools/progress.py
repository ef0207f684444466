"""How far a tool is: a bar with its speed and the time that is left, on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Bar:
    """What is shown of one piece of work; the base shows nothing, for those who do not look."""

    def move(self, done: float, keys: int) -> None:
        """So much is done, and so many keys."""


class _TerminalBar(Bar):
    def __init__(self, name: str, total: float | None, unit: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        amounts: tuple[ProgressColumn, ...] = (MofNCompleteColumn(),) if total is not None else ()
        if unit == "bytes":
            amounts = DownloadColumn(), TransferSpeedColumn()
        things = "keys" if unit == "bytes" else unit
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *amounts,
            TextColumn(f"{{task.fields[keys]}} {things}, {{task.fields[rate]}}/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            refresh_per_second=5,
        )
        self._task = self.progress.add_task(name, total=total, keys=0, rate=0)

    def move(self, done: float, keys: int) -> None:
        elapsed = self.progress.tasks[self._task].elapsed or 0.0
        self.progress.update(
            self._task,
            completed=done,
            keys=keys,
            rate=int(keys / elapsed) if elapsed else 0,
        )


@contextmanager
def bar(name: str, total: float | None, unit: str = "bytes") -> Iterator[Bar]:
    """A bar while something lasts, if a person looks."""
    if not sys.stderr.isatty():
        yield Bar()
        return
    shown = _TerminalBar(name, total, unit)
    with shown.progress:
        yield shown
