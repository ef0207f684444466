"""How the server ends: SHUTDOWN and signals, with a dump before or without."""

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")


def writes_dump(server: "Server", words: Collection[str]) -> bool:
    """Whether a dump comes before the end: without a word about it, if there are save points."""
    return "save" in words or ("nosave" not in words and server.saving.has_points)


def end(server: "Server", words: Collection[str], on_refusal: Callable[[], None]) -> None:
    """End as SHUTDOWN with these words does. If the dump that comes before cannot be written,
    `on_refusal` is called and all goes on, unless the end is forced.
    """
    if writes_dump(server, words):
        _save_and_stop(server, on_refusal, is_forced="force" in words)
    else:
        server.stop(ends_scripts="nosave" in words)


def obey_signal(server: "Server", text: str) -> None:
    """End as an option says (shutdown-on-sigterm, shutdown-on-sigint)."""
    end(server, text.split(), lambda: log.error("no dump could be written: the server goes on"))


def _save_and_stop(server: "Server", on_refusal: Callable[[], None], *, is_forced: bool) -> None:
    def done(failure: str) -> None:
        if failure and not is_forced:
            on_refusal()
        else:
            server.stop()

    if server.saving.is_running:
        server.saving.when_ended(lambda _: _save_and_stop(server, on_refusal, is_forced=is_forced))
    else:
        server.saving.start(done)
