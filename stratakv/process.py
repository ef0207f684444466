"""The process as others see it: in the background, with a file of its number, ready or not."""

import contextlib
import logging
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from stratakv.options import Options

log = logging.getLogger("stratakv")

_USUAL_PIDFILE: Final = "/var/run/redis.pid"
"""Of a daemon whose redis.conf names none."""


def supervisor(options: Options, environment: Mapping[str, str]) -> str:
    """Who waits to hear that the server is ready: `systemd`, `upstart`, or nobody."""
    asked = {"systemd": "NOTIFY_SOCKET", "upstart": "UPSTART_JOB"}
    wanted = asked if options.supervised == "auto" else (options.supervised,)
    for name in wanted:
        if name in asked and environment.get(asked[name]):
            return name
    if options.supervised in asked:
        log.warning("supervised is %s, but nobody has asked for it", options.supervised)
    return ""


def go_to_background() -> None:
    """Go on as a child without a terminal; the parent ends. Requires: there are no threads."""
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


@contextlib.contextmanager
def pid_file(options: Options, *, is_daemon: bool) -> Iterator[None]:
    """The file of the process's number, for as long as it runs; without it the server runs too."""
    usual = _USUAL_PIDFILE if is_daemon and options.is_like_redis else ""
    file = Path(options.pidfile or usual).absolute()
    if not (options.pidfile or usual):
        yield
        return
    try:
        file.write_text(f"{os.getpid()}\n")
        file.chmod(0o644)
    except OSError as error:
        log.warning("the pidfile %s cannot be written: %s", file, error.strerror)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink()


def wait_for_upstart(who: str) -> None:
    """Stop until upstart, which sees that, lets the process go on: it is ready."""
    if who == "upstart":
        os.kill(os.getpid(), signal.SIGSTOP)
