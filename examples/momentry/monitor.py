"""The live monitor: a loop that listens, and one place where what was missed is read again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import redis
from redis.client import PubSub
from rich.console import Console, RenderableType
from rich.live import Live

from examples.momentry.board import Board, describe
from examples.momentry.model import Message
from examples.momentry.view import render

POLL_S = 0.2
REFRESH_S = 1.0
RETRY_S = 0.5


@dataclass(slots=True)
class Monitor:
    """Keeps a board up to date; calls `changed` after each look and `heard` for each message."""

    board: Board
    changed: Callable[[], None] = lambda: None
    heard: Callable[[str, Message], None] = lambda uuid, message: None
    _last_refresh: float = 0.0

    def run(self, until_idle_s: float | None = None) -> None:
        """Listen for ever, or until no job is active and nothing came for so long."""
        pubsub = self.board.store.listen()
        quiet_since = time.monotonic()
        try:
            while until_idle_s is None or time.monotonic() - quiet_since < until_idle_s:
                if self._step(pubsub) or not self.board.is_idle:
                    quiet_since = time.monotonic()
        finally:
            pubsub.close()

    def _step(self, pubsub: PubSub) -> bool:
        """Wait a moment for a message and take it in; True if something came."""
        try:
            came = self._take(pubsub.get_message(timeout=POLL_S))
            if time.monotonic() - self._last_refresh > REFRESH_S:
                self.board.refresh()
                self._last_refresh = time.monotonic()
        except redis.ConnectionError:
            time.sleep(RETRY_S)
            return True
        self.changed()
        return came

    def _take(self, frame: dict[str, str] | None) -> bool:
        if frame is None:
            return False
        if frame["type"] == "psubscribe":
            # Comes first, and again after the connection was lost. From here on no message is
            # missed, so reading the keys now makes the board complete.
            self.board.load()
        elif frame["type"] == "pmessage":
            message = self.board.hear(frame["channel"], frame["data"])
            if message is not None:
                self.heard(self.board.store.keys.uuid_of(frame["channel"]), message)
        return True


def show_once(board: Board, console: Console) -> None:
    """Print the state that the keys have now."""
    board.load()
    console.print(_picture(board, console))


def show_live(board: Board, console: Console, until_idle_s: float | None) -> None:
    """On a terminal, redraw the picture at each message; else print them, then the picture."""
    board.load()
    if console.is_terminal:
        with Live(_picture(board, console), console=console, refresh_per_second=8) as live:
            Monitor(board, lambda: live.update(_picture(board, console))).run(until_idle_s)
        return
    Monitor(board, heard=lambda uuid, message: _print_line(console, uuid, message)).run(
        until_idle_s
    )
    console.print(_picture(board, console, with_recent=False))


def _picture(board: Board, console: Console, *, with_recent: bool = True) -> RenderableType:
    return render(board, int(time.time()), console.width, with_recent=with_recent)


def _print_line(console: Console, uuid: str, message: Message) -> None:
    console.print(describe(uuid, message), markup=False, highlight=False, soft_wrap=True)
