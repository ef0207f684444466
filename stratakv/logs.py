"""Structured logs: one line an event, as text for people or as JSON for machines."""

import json
import logging
import sys
import time


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


def configure(level: str, form: str) -> None:
    """Send logs of that level and above to the standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    set_level(level)


def set_level(level: str) -> None:
    """Log that level and above from now on."""
    logging.getLogger().setLevel(level.upper())
