"""How the board looks in a terminal. Texts from outside never reach it with control characters."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from examples.momentry.board import Board
from examples.momentry.model import PROCESSORS, Status
from examples.momentry.store import JobState, Summary

SPARKS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 12
WIDE = 120
STYLES = {Status.RUNNING: "cyan", Status.COMPLETED: "green", Status.FAILED: "red"}
MARKS = {Status.RUNNING: "▶", Status.COMPLETED: "✓", Status.FAILED: "✗"}


def render(board: Board, now: int, width: int, *, with_recent: bool = True) -> RenderableType:
    """The whole picture; the last messages are left out where they were printed already."""
    parts: list[RenderableType] = [header(board.store.keys.prefix, board.summary)]
    parts.append(jobs_table(list(board.states.values()), now, width))
    if with_recent:
        parts += [Text(printable(line), style="dim", no_wrap=True) for line in board.recent]
    parts += [Text(f"! {printable(line)}", style="yellow") for line in board.problems]
    return Group(*parts)


def header(prefix: str, summary: Summary) -> Text:
    """One line about the installation."""
    line = Text()
    line.append(f"{printable(prefix)} ", style="bold")
    health = summary.health or "no sign of life"
    line.append(printable(health), style="green" if summary.health == "healthy" else "bold red")
    for name, status in sorted(summary.services.items()):
        line.append(f" {printable(name)}={printable(status)}", style="dim")
    line.append(
        f"  cpu {printable(summary.cpu or '-')} %  mem {printable(summary.memory or '-')} MB"
    )
    line.append(f"  active {summary.active}", style="cyan")
    line.append(f"  completed {summary.completed}", style="green")
    line.append(f"  failed {summary.failed}", style="red")
    line.append(f"  today {summary.processed_today}  total {summary.total_jobs}")
    return line


def jobs_table(states: Sequence[JobState], now: int, width: int) -> Table:
    """A row per job, the active ones first, then the newest.

    Below WIDE columns the bar stays, and of the processors only the current one.
    """
    table = Table(expand=True, box=None, padding=(0, 1))
    table.add_column("job", no_wrap=True, min_width=16)
    table.add_column("video", no_wrap=True)
    table.add_column("progress", ratio=1, min_width=10)
    table.add_column("%", justify="right", min_width=3)
    table.add_column("processors" if width >= WIDE else "processor", no_wrap=True)
    if width >= WIDE:
        table.add_column("cpu", no_wrap=True)
    table.add_column("ago", justify="right", min_width=3)
    for state in sorted(states, key=_order):
        table.add_row(*_row(state, now, width >= WIDE))
    return table


def sparkline(values: Sequence[float], top: float = 100.0) -> str:
    """The last values as little bars."""
    levels = [min(max(value, 0.0) / top, 1.0) for value in values[-SPARK_WIDTH:]]
    return "".join(SPARKS[round(level * (len(SPARKS) - 1))] for level in levels)


def printable(text: str) -> str:
    """The text with a ? for each character that could move the cursor or change colours."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _order(state: JobState) -> tuple[bool, int, str]:
    job = state.job
    if job is None:
        return True, 1, state.uuid
    return job.status is not Status.RUNNING, -job.updated_at, state.uuid


def _row(state: JobState, now: int, is_wide: bool) -> list[RenderableType]:
    job = state.job
    if job is None:
        return [Text(printable(state.uuid)), Text("keys gone or malformed", style="yellow")]
    style = STYLES[job.status]
    row: list[RenderableType] = [
        Text(printable(state.uuid)),
        Text(printable(job.video_path.rsplit("/", 1)[-1])),
        ProgressBar(total=100, completed=job.progress_total, style="dim", complete_style=style),
        Text(str(job.progress_total)),
    ]
    if is_wide:
        row += [_processors(state), Text(sparkline(state.cpu), style="magenta")]
    else:
        row.append(_mark(state, job.current_processor))
    return [*row, Text(age(now - job.updated_at))]


def _processors(state: JobState) -> Text:
    return Text(" ").join(_mark(state, name) for name in PROCESSORS)


def _mark(state: JobState, name: str) -> Text:
    """A processor's sign and name, with its percentage while it runs."""
    processor = state.processors.get(name)
    if processor is None:
        return Text(f"·{name}", style="dim")
    share = f" {processor.progress}%" if processor.status is Status.RUNNING else ""
    return Text(f"{MARKS[processor.status]}{name}{share}", style=STYLES[processor.status])


def age(seconds: int) -> str:
    """How long ago, in the largest unit that fits."""
    for size, unit in ((3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"
