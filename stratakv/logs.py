"""Structured logs: one line an event, as text for people or as JSON for machines."""

import json
import logging
import sys
import time
from pathlib import Path
from typing import TextIO

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


def configure(level: str, form: str, file: str = "") -> None:
    """Send logs of that level and above to a file, or to the standard error. Raises OSError."""
    handler = _ToFile(Path(file)) if file else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
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
