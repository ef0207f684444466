"""Dumps: SAVE, BGSAVE and LASTSAVE. Whatever was acknowledged is stored without them."""

from typing import Final

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NO_REPLY, OK, Reply, Status

command = CommandGroup("server").command

_STARTED: Final = Status(b"Background saving started")
_SCHEDULED: Final = Status(b"Background saving scheduled")


@command("SAVE", "admin noscript no_async_loading no_multi")
def save(session: Session) -> Reply:
    """Write a dump that Redis loads, then answer."""
    saving = session.server.saving
    if saving.is_running:
        raise CommandError(errors.SAVING)
    session.server.dispatcher.pipelines.await_answer(session)

    def done(failure: str) -> None:
        session.answer_later(CommandError(errors.NOT_SAVED) if failure else OK)

    saving.start(done)
    return NO_REPLY


@command("BGSAVE [SCHEDULE]", "admin noscript no_async_loading")
def bgsave(session: Session, *mode: bytes) -> Reply:
    """Write a dump that Redis loads, in the background."""
    server = session.server
    if len(mode) > 1 or (mode and mode[0].upper() != b"SCHEDULE"):
        raise errors.syntax()
    if server.saving.is_running:
        raise CommandError(errors.SAVING)
    if session.unit is not None:
        server.loop.call_soon(_start_if_idle, session)
        return _SCHEDULED
    _start_if_idle(session)
    return _STARTED


def _start_if_idle(session: Session) -> None:
    saving = session.server.saving
    if not saving.is_running:
        saving.start(_tell_nobody)


def _tell_nobody(failure: str) -> None:
    """The log and INFO tell."""


@command("BGREWRITEAOF", "admin noscript no_async_loading")
def bgrewriteaof(session: Session) -> Reply:
    """Refuse: there is no append only file."""
    raise CommandError(errors.NO_REWRITE_OF_LOG)


@command(
    "LASTSAVE",
    "loading stale fast",
    categories="admin dangerous",
    tips="nondeterministic_output",
    tenants="barred",
)
def lastsave(session: Session) -> int:
    """Return when the last dump was complete, or the start."""
    return session.server.saving.last_save
