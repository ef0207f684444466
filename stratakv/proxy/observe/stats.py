"""Counters that INFO, SLOWLOG, MONITOR and the metrics read."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from stratakv.encodings.upkeep.damage import explain
from stratakv.errors import CommandError, Damaged
from stratakv.options import Effects, holds_secret
from stratakv.proxy.clients.session import Session
from stratakv.proxy.observe.latency import LatencyMonitor, event_of
from stratakv.proxy.table.registry import CALLED
from stratakv.proxy.wire.replies import Status
from stratakv.proxy.wire.requests import Request

log = logging.getLogger("stratakv")

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
    realm: int
    """Where its client was; not shown."""


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
        self.damages: dict[str, Damaged] = {}
        """The damaged places of the store that were met so far, with what was wanted there."""
        self.reset()

    def reset(self) -> None:
        """CONFIG RESETSTAT."""
        self.connections = 0
        self.rejected_connections = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.errors: Counter[bytes] = Counter()
        self.unexpected_errors = 0
        """Errors in answer to a master or a replica: they should not differ."""
        self.expired_keys = 0
        self.reclaimed_rows = 0
        self.long_commands = 0
        self.output_limit_disconnections = 0
        self.query_limit_disconnections = 0
        self.evicted_clients = 0
        """Cut for the memory of all (maxmemory-clients)."""
        self.loop_lag_seconds = 0.0
        self.corruptions = 0
        """Reads that met a damaged place."""

    @property
    def effects(self) -> Effects:
        """What setting its options does."""
        return {
            "slowlog-log-slower-than": self.log_slower_than,
            "slowlog-max-len": self.keep_slow_calls,
            "latency-monitor-threshold": self.watch_latency_from,
        }

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

    def count_damage(self, failure: Damaged) -> Damaged:
        """A read met a damaged place: the error that names its key. Each place is logged once."""
        failure = explain(failure)
        self.corruptions += 1
        if failure.place not in self.damages:
            self.damages[failure.place] = failure
            log.error("the store is damaged: %s", failure)
        return failure

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
        call = SlowCall(
            self._slow_id,
            int(time.time()),
            int(seconds * 1_000_000),
            shown,
            session.connection.address.encode(),
            session.profile.name,
            session.realm.id,
        )
        self.slow_calls.appendleft(call)
        self._slow_id += 1
        if session.server.options.slowlog_to_log:
            _log_slow(call)


def _log_slow(call: SlowCall) -> None:
    """The same call as a line of the log, whatever its bytes are."""
    words = b" ".join(map(_quoted, call.arguments)).decode("ascii")
    client = f"{call.address.decode()} {_quoted(call.name).decode('ascii')}"
    log.warning("slow: %.3f ms for %s: %s", call.micros / 1000, client, words)


def _is_logged(request: Request) -> bool:
    """Whether the slow log takes a call: not EXEC, whose commands are there themselves."""
    entry = CALLED.get(request[0].lower())
    return entry is None or "skip_slowlog" not in entry.flags


def monitor_line(session: Session, request: Request, source: str = "") -> Status:
    """A command as MONITOR shows it; `source` is who ran it, if not the client."""
    arguments = b" ".join(_quoted(argument) for argument in redacted(request))
    return Status(
        b"%.6f [%d %b] %b"
        % (
            time.time(),
            session.server.keyspace.shown_number(session.txn.db.index),
            (source or session.connection.address).encode(),
            arguments,
        )
    )


def redacted(request: Request) -> Request:
    """The request without passwords; what cannot have any is given back as it is."""
    entry = CALLED.get(request[0].lower())
    hide = None if entry is None else _SECRETIVE.get(entry.words[0])
    return request if hide is None else hide(list(request), [word.upper() for word in request])


def _hide(shown: list[bytes], at: int, count: int) -> None:
    shown[at : at + count] = [_REDACTED] * len(shown[at : at + count])


def _redact_auth(shown: list[bytes], words: list[bytes]) -> Request:
    _hide(shown, 1, len(shown))
    return shown


def _redact_hello(shown: list[bytes], words: list[bytes]) -> Request:
    at = 1
    while at < len(words):
        if words[at] == b"AUTH":
            _hide(shown, at + 1, 2)
            at += 2
        at += 2 if words[at : at + 1] == [b"SETNAME"] else 1
    return shown


def _redact_migrate(shown: list[bytes], words: list[bytes]) -> Request:
    """MIGRATE host port key db timeout [COPY] [REPLACE] [AUTH password | AUTH2 user password]."""
    for at in range(6, len(words)):
        if words[at] == b"KEYS":
            break
        if words[at] in (b"AUTH", b"AUTH2"):
            _hide(shown, at + 1, 1 if words[at] == b"AUTH" else 2)
            break
    return shown


def _redact_config(shown: list[bytes], words: list[bytes]) -> Request:
    if words[1:2] == [b"SET"]:
        for at in range(2, len(words) - 1, 2):
            name = words[at].decode("latin-1").lower()
            if name in _SECRET_IN_REDIS or holds_secret(name):
                _hide(shown, at + 1, 1)
    return shown


def _redact_acl(shown: list[bytes], words: list[bytes]) -> Request:
    if words[1:2] == [b"SETUSER"]:
        _hide(shown, 2, len(shown))
    return shown


_SECRET_IN_REDIS = frozenset(("masterauth", "masteruser", "tls-key-file-pass"))
_SECRETIVE: dict[str, Callable[[list[bytes], list[bytes]], Request]] = {
    "acl": _redact_acl,
    "auth": _redact_auth,
    "config": _redact_config,
    "hello": _redact_hello,
    "migrate": _redact_migrate,
}
"""Commands that may carry passwords, and how those are hidden, as Redis does."""


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
