"""Structured logs: one line an event, as text for people or as JSON for machines."""

import contextlib
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Final, TextIO

log = logging.getLogger("stratakv")


class TextFormatter(logging.Formatter):
    """2026-01-31T12:00:00.123Z WARNING message."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, with a traceback behind it if there is one."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = f"{stamp}.{int(record.msecs):03d}Z {record.levelname} {record.getMessage()}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JsonFormatter(logging.Formatter):
    """The same facts as a JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        event = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["traceback"] = self.formatException(record.exc_info)
        return json.dumps(event)


class RedisFormatter(logging.Formatter):
    """1234:M 31 Jan 2026 12:00:00.123 * message, as a redis-server has it."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; our levels stand for Redis's as in CONFIG SET loglevel."""
        stamp = time.strftime("%d %b %Y %H:%M:%S", time.localtime(record.created))
        sign = _SIGNS.get(record.levelname, "#")
        head = f"{record.process}:M {stamp}.{int(record.msecs):03d} {sign}"
        line = f"{head} {record.getMessage()}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


_SIGNS: Final = {"DEBUG": ".", "INFO": "-", "WARNING": "*", "ERROR": "#"}
_FORMATS: Final = {"text": TextFormatter, "json": JsonFormatter, "redis": RedisFormatter}


class _ToFile(logging.StreamHandler[TextIO]):
    """Appends to a file, which may be moved away and opened anew."""

    def __init__(self, file: Path) -> None:
        self._file = file
        super().__init__(self._open())

    def _open(self) -> TextIO:
        return self._file.open("a", encoding="utf-8", errors="backslashreplace")

    def reopen(self) -> None:
        """Go on in the file that has the name now; raises OSError, and goes on in the old one."""
        old = self.setStream(self._open())
        if old is not None:
            old.close()


class _ToName(_ToFile):
    """The same, and goes on in another file as soon as one is moved away: as Redis does."""

    def emit(self, record: logging.LogRecord) -> None:
        """Look for the name first."""
        try:
            is_there = os.path.samestat(os.fstat(self.stream.fileno()), self._file.stat())
        except OSError:
            is_there = False
        if not is_there:
            with contextlib.suppress(OSError):
                self.reopen()
        super().emit(record)


def configure(level: str, form: str, file: str = "", *, is_like_redis: bool = False) -> None:
    """Send logs of that level and above to a file, or to where they are looked for.

    That is the standard error, and in the format of a Redis the standard output. Raises OSError.
    """
    to_file = _ToName if is_like_redis else _ToFile
    stream = sys.stdout if form == "redis" else sys.stderr
    handler = to_file(Path(file).absolute()) if file else logging.StreamHandler(stream)
    handler.setFormatter(_FORMATS[form]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    set_level(level)


def reopen() -> None:
    """Open the file anew, if there is one: for those who have moved it away."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _ToFile):
            try:
                handler.reopen()
            except OSError as error:
                log.error("the log goes on in the old file: %s", error)


def set_level(level: str) -> None:
    """Log that level and above from now on."""
    logging.getLogger().setLevel(level.upper())
