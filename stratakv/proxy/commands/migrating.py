"""MIGRATE: keys to another server, which has them before they are deleted here.

It runs in slices, with its keys locked, and waits for the other server without holding anybody up.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import hiredis

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.layout.numbers import parse_int
from stratakv.encodings.rdb import writer
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, integer
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.keyspecs import KeySpec, KeyUse
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply, Status
from stratakv.storage.missing import TooLong

command = CommandGroup("generic").command

_NO_KEY: Final = Status(b"NOKEY")
_UNCHOSEN: Final = -1
"""To Redis this is the database of a connection on which none was chosen: number 0."""
_DEFAULT_MS: Final = 1000
_KEYS_AT: Final = 6
_CREDENTIALS: Final = {b"AUTH": 1, b"AUTH2": 2}
_RECEIVED_AT_ONCE: Final = 1 << 14
_MOST_PORT: Final = 65535
_SPECS: Final = (
    KeySpec(("RW", "access", "delete"), 3),
    KeySpec(("RW", "access", "delete", "incomplete"), -2, "range", -1, 1, keyword="KEYS"),
)

T = TypeVar("T")


def _migrated_keys(request: Sequence[bytes]) -> list[KeyUse]:
    """The key, or those behind KEYS; none where both are given, which is refused."""
    flags = _SPECS[0].flags
    at = _KEYS_AT
    while at < len(request):
        word = request[at].upper()
        if word == b"KEYS":
            return [] if request[3] else [(key, flags) for key in range(at + 1, len(request))]
        at += 1 + _CREDENTIALS.get(word, 0)
    return [(3, flags)]


@dataclass(slots=True)
class _Options:
    copies: bool = False
    replaces: bool = False
    credentials: list[bytes] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)


@command(
    "MIGRATE host port key|empty-string destination-db timeout [COPY] [REPLACE]"
    " [AUTH password | AUTH2 username password] [KEYS key [key ...]]",
    "write movablekeys",
    arity=-6,
    keys=(3, 3, 1),
    key_uses=_migrated_keys,
    key_specs=_SPECS,
    categories="keyspace dangerous",
    tips="nondeterministic_output",
    since="2.6.0",
    tenants="barred",
)
def migrate(
    session: Session,
    host: bytes,
    port: bytes,
    key: bytes,
    database: bytes,
    timeout: bytes,
    *words: bytes,
) -> Reply:
    """Move keys to another server."""
    options = _options(key, Args(words))
    timeout_ms, number = integer(timeout), integer(database)
    txn = session.txn
    keys = [one for one in options.keys if txn.read(one) is not None]
    if not keys:
        return _NO_KEY
    if not txn.is_long:
        raise TooLong
    target = _Target(session, host, parse_int(port) or 0, max(timeout_ms, 0) or _DEFAULT_MS)
    target.connect()
    try:
        return _Migration(txn, target, options).run(keys, number)
    finally:
        target.close()


def _options(key: bytes, args: Args) -> _Options:
    found = _Options(keys=[key])
    while args:
        word = args.option()
        if word == b"COPY":
            found.copies = True
        elif word == b"REPLACE":
            found.replaces = True
        elif word == b"AUTH" and args:
            found.credentials = [args.take()]
        elif word == b"AUTH2" and len(args) > 1:
            found.credentials = [args.take(), args.take()]
        elif word == b"KEYS":
            if key:
                raise CommandError(errors.MIGRATE_KEYS)
            found.keys = list(args.rest())
        else:
            raise errors.syntax()
    return found


class _Migration:
    """Keys on their way; the first error of the target is the answer, the others go on."""

    def __init__(self, txn: Txn, target: "_Target", options: _Options) -> None:
        self._txn = txn
        self._target = target
        self._options = options

    def run(self, keys: list[bytes], database: int) -> Reply:
        greeting: list[tuple[bytes, ...]] = []
        if self._options.credentials:
            greeting.append((b"AUTH", *self._options.credentials))
        if database != _UNCHOSEN:
            greeting.append((b"SELECT", b"%d" % database))
        refusals = [self._target.ask(words) for words in greeting]
        failure = next((one for one in refusals if one), b"")
        if failure:
            return _refused(failure)
        try:
            for key in keys:
                answer = self._target.ask(self._restore(key))
                failure = failure or answer
                if not answer and not self._options.copies:
                    self._txn.drop(key)
                    self._txn.event("g", "del", key)
        except CommandError as lost:
            return lost  # what the target has taken is deleted all the same
        return _refused(failure) if failure else OK

    def _restore(self, key: bytes) -> tuple[bytes, ...]:
        txn = self._txn
        meta = txn.find(key)
        payload = writer.dump(txn, key)
        assert meta is not None
        assert payload is not None, "a key that was found is gone"
        left_ms = 0 if meta.expire_ms == NO_EXPIRY else max(1, meta.expire_ms - txn.now_ms)
        words = (b"RESTORE", key, b"%d" % left_ms, bytes(payload))
        return (*words, b"REPLACE") if self._options.replaces else words


def _refused(answer: bytes) -> CommandError:
    return CommandError(b"ERR Target instance replied with error: " + answer)


class _Target:
    """The other server. Its methods wait; others are served meanwhile."""

    def __init__(self, session: Session, host: bytes, port: int, timeout_ms: int) -> None:
        self._server = session.server
        self._host = host.decode("latin-1")
        self._port = port
        self._timeout_s = timeout_ms / 1000
        self._parser = hiredis.Reader(notEnoughData=...)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def connect(self) -> None:
        """Raises what Redis says if there is nobody."""
        if not 0 < self._port <= _MOST_PORT:
            raise CommandError(errors.MIGRATE_CONNECT)
        opening = asyncio.open_connection(self._host, self._port)
        # Redis learns that it is refused when it writes.
        self._streams = self._wait(opening, errors.MIGRATE_CONNECT, refused=errors.MIGRATE_WRITE)

    def ask(self, words: Sequence[bytes]) -> bytes:
        """What the other says to a command, if that is an error."""
        assert self._streams is not None
        reader, sink = self._streams
        sink.write(b"*%d\r\n" % len(words))
        for word in words:
            sink.write(b"$%d\r\n" % len(word))
            sink.write(word)
            sink.write(b"\r\n")
        self._wait(sink.drain(), errors.MIGRATE_WRITE)
        while (reply := self._parser.gets()) is ...:
            data = self._wait(reader.read(_RECEIVED_AT_ONCE), errors.MIGRATE_READ)
            if not data:
                raise CommandError(errors.MIGRATE_READ)
            self._parser.feed(data)
        is_error = isinstance(reply, hiredis.ReplyError)
        return str(reply).encode("utf-8", "surrogateescape") if is_error else b""

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()

    def _wait(self, work: Coroutine[Any, Any, T], failure: bytes, refused: bytes = b"") -> T:
        """The result of something that takes no longer than allowed, else an error."""
        task = self._server.loop.create_task(asyncio.wait_for(work, self._timeout_s))

        def subscribe(resume: Callable[[], None]) -> None:
            task.add_done_callback(lambda _: resume())

        self._server.slices.wait(subscribe)
        try:
            return task.result()
        except ConnectionError:
            raise CommandError(refused or failure) from None
        except (OSError, TimeoutError, ValueError):
            raise CommandError(failure) from None
