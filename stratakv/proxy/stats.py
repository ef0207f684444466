"""Counters that INFO, SLOWLOG, MONITOR and the metrics read."""

import time
from collections import Counter, deque
from typing import NamedTuple

from stratakv.errors import CommandError
from stratakv.proxy.latency import LatencyMonitor, event_of
from stratakv.proxy.replies import Status
from stratakv.proxy.requests import Request
from stratakv.proxy.session import Session
from stratakv.proxy.table import TABLE

SLOWLOG_ARGUMENTS = 32
SLOWLOG_ARGUMENT_BYTES = 128


RATE_SAMPLES = 16
_REDACTED = b"(redacted)"


class Sample(NamedTuple):
    """The counters of a moment."""

    time: float
    commands: int
    bytes_in: int
    bytes_out: int


class SlowCall(NamedTuple):
    """An entry of the slow log."""

    id: int
    time: int
    micros: int
    arguments: list[bytes]
    address: bytes
    name: bytes


class Stats:
    """What happened since the start, or since CONFIG RESETSTAT."""

    def __init__(self) -> None:
        self.started = time.time()
        self.slow_seconds = 0.01
        """The shortest call that is worth a look, for the slow log or the latency monitor."""
        self.slow_calls: deque[SlowCall] = deque(maxlen=128)
        self.latency = LatencyMonitor()
        self._slow_id = 0
        self._log_seconds = 0.01
        self._rates: deque[Sample] = deque(maxlen=RATE_SAMPLES)
        self.reset()

    def reset(self) -> None:
        """CONFIG RESETSTAT."""
        self.connections = 0
        self.rejected_connections = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.errors: Counter[bytes] = Counter()
        self.expired_keys = 0
        self.reclaimed_rows = 0
        self.long_commands = 0
        self.output_limit_disconnections = 0
        self.loop_lag_seconds = 0.0

    def log_slower_than(self, micros: int) -> None:
        """Set the slow log's threshold; a negative one turns it off."""
        self._log_seconds = micros / 1_000_000 if micros >= 0 else float("inf")
        self.slow_seconds = min(self._log_seconds, self.latency.threshold_seconds)

    def watch_latency_from(self, milliseconds: int) -> None:
        """Set the latency monitor's threshold; 0 turns it off."""
        self.latency.threshold_seconds = milliseconds / 1000 if milliseconds else float("inf")
        self.slow_seconds = min(self._log_seconds, self.latency.threshold_seconds)

    def keep_slow_calls(self, count: int) -> None:
        """Set the length of the slow log, dropping the oldest entries that are too many."""
        self.slow_calls = deque(list(self.slow_calls)[:count], maxlen=count)

    def sample(self, commands: int) -> None:
        """Remember the counters of this moment, for the rates per second of INFO."""
        self._rates.append(Sample(time.monotonic(), commands, self.bytes_in, self.bytes_out))

    def rates(self) -> tuple[float, float, float]:
        """Commands, bytes in and bytes out per second, lately."""
        if len(self._rates) < 2:
            return (0.0, 0.0, 0.0)
        first, last = self._rates[0], self._rates[-1]
        seconds = max(last.time - first.time, 0.001)
        return (
            max(0.0, (last.commands - first.commands) / seconds),
            max(0.0, (last.bytes_in - first.bytes_in) / seconds),
            max(0.0, (last.bytes_out - first.bytes_out) / seconds),
        )

    def count_error(self, failure: CommandError) -> None:
        """Count an error reply by its code."""
        self.errors[failure.code] += 1

    def reject(self, session: Session, failure: CommandError) -> None:
        """Reply with an error to a command that did not run."""
        self.count_error(failure)
        if session.transaction is not None:
            session.transaction.failed = True
        session.reply(failure)
        session.server.turns.touch(session)

    def record_slow(self, session: Session, request: Request, seconds: float) -> None:
        """Put a call into the slow log, cut to what a person can read."""
        if seconds >= self.latency.threshold_seconds:
            self.latency.record(event_of(request), seconds)
        if seconds < self._log_seconds or not _is_logged(request):
            return
        shown = [_cut(argument) for argument in redacted(request)[:SLOWLOG_ARGUMENTS]]
        if len(request) > SLOWLOG_ARGUMENTS:
            rest = len(request) - SLOWLOG_ARGUMENTS + 1
            shown[-1] = b"... (%d more arguments)" % rest
        self.slow_calls.appendleft(
            SlowCall(
                self._slow_id,
                int(time.time()),
                int(seconds * 1_000_000),
                shown,
                session.connection.address.encode(),
                session.name,
            )
        )
        self._slow_id += 1


def _is_logged(request: Request) -> bool:
    """Whether the slow log takes a call: not EXEC, whose commands are there themselves."""
    entry = TABLE.get(request[0].lower())
    return entry is None or "skip_slowlog" not in entry.flags


def monitor_line(session: Session, request: Request, source: str = "") -> Status:
    """A command as MONITOR shows it; `source` is who ran it, if not the client."""
    arguments = b" ".join(_quoted(argument) for argument in redacted(request))
    return Status(
        b"%.6f [%d %b] %b"
        % (
            time.time(),
            session.txn.db.index,
            (source or session.connection.address).encode(),
            arguments,
        )
    )


def redacted(request: Request) -> Request:
    """The request without passwords."""
    name = request[0].upper()
    if name == b"AUTH":
        return [request[0], *[_REDACTED] * (len(request) - 1)]
    shown = list(request)
    words = [argument.upper() for argument in request]
    if name == b"HELLO" and b"AUTH" in words:
        at = words.index(b"AUTH") + 1
        shown[at : at + 2] = [_REDACTED] * len(shown[at : at + 2])
    elif words[:2] == [b"CONFIG", b"SET"]:
        for at in range(2, len(words) - 1, 2):
            if words[at] == b"REQUIREPASS":
                shown[at + 1] = _REDACTED
    return shown


def _cut(argument: bytes) -> bytes:
    if len(argument) <= SLOWLOG_ARGUMENT_BYTES:
        return argument
    rest = len(argument) - SLOWLOG_ARGUMENT_BYTES
    return argument[:SLOWLOG_ARGUMENT_BYTES] + b"... (%d more bytes)" % rest


_NAMED = {0x5C: "\\\\", 0x22: '\\"', 10: "\\n", 13: "\\r", 9: "\\t", 7: "\\a", 8: "\\b"}
_SHOWN = {
    code: _NAMED.get(code, chr(code) if 32 <= code < 127 else f"\\x{code:02x}")
    for code in range(256)
}


def _quoted(argument: bytes) -> bytes:
    """An argument in double quotes, as Redis prints it."""
    return b'"' + argument.decode("latin-1").translate(_SHOWN).encode() + b'"'
