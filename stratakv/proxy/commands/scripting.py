"""Script commands: EVAL and its family, and the scripts that the server knows."""

from collections.abc import Callable, Sequence
from typing import Any

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import integer
from stratakv.proxy.clients.session import Session
from stratakv.proxy.scripting.engine import Script
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup, H, numbered_keys
from stratakv.proxy.wire.replies import OK, Reply

_GROUP = CommandGroup("scripting")
command, container = _GROUP.command, _GROUP.container

KEYS_OF_WRITER = "the script decides: reads and writes assumed"
KEYS_OF_READER = "the script decides: reads assumed"
_FLAGS = "noscript stale skip_monitor no_mandatory_keys movablekeys"


def named_keys(request: Sequence[bytes]) -> list[bytes]:
    """The keys of EVAL, FCALL and their like: as many as the second argument says."""
    return numbered_keys(2, request)


def split_keys(count: int, rest: tuple[bytes, ...]) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Keys and arguments; raises where there are fewer than announced."""
    if count > len(rest):
        raise CommandError(errors.MORE_KEYS_THAN_ARGS)
    if count < 0:
        raise CommandError(errors.NEGATIVE_KEYS)
    return rest[:count], rest[count:]


def script_call(syntax: str, *, writes: bool, since: str, key_notes: str = "") -> Callable[[H], H]:
    """Put EVAL, FCALL or one of their like into the table."""
    return command(
        syntax,
        _FLAGS if writes else f"readonly {_FLAGS}",
        keys=(0, 0, 0),
        key_finder=named_keys,
        key_flags="RW access update" if writes else "RO access",
        key_notes=key_notes,
        traits="script unit replicates" if writes else "script",
        tenants="own",
        since=since,
    )


def _eval(
    session: Session, code: bytes, numkeys: bytes, rest: tuple[bytes, ...], read_only: bool
) -> Any:
    scripting = session.server.scripting
    keys, args = split_keys(integer(numkeys), rest)
    return scripting.eval(session, scripting.load(session, code), keys, args, read_only=read_only)


def _eval_known(
    session: Session, digest: bytes, numkeys: bytes, rest: tuple[bytes, ...], read_only: bool
) -> Any:
    if len(digest) != 40:
        raise CommandError(errors.NO_SCRIPT)
    keys, args = split_keys(integer(numkeys), rest)
    script = _find(session, digest)
    if script is None:
        raise CommandError(errors.NO_SCRIPT)
    return session.server.scripting.eval(session, script, keys, args, read_only=read_only)


def _find(session: Session, digest: bytes) -> Script | None:
    scripts = session.server.scripting.scripts(session)
    return scripts.get(digest) or scripts.get(digest.lower())


@script_call(
    "EVAL script numkeys [key [key ...]] [arg [arg ...]]",
    writes=True,
    key_notes=KEYS_OF_WRITER,
    since="2.6.0",
)
def eval_(session: Session, script: bytes, numkeys: bytes, *rest: bytes) -> Reply:
    """Run a Lua script as one unit."""
    return _eval(session, script, numkeys, rest, read_only=False)


@script_call(
    "EVAL_RO script numkeys [key [key ...]] [arg [arg ...]]",
    writes=False,
    key_notes=KEYS_OF_READER,
    since="7.0.0",
)
def eval_ro(session: Session, script: bytes, numkeys: bytes, *rest: bytes) -> Reply:
    """Run a Lua script that writes nothing."""
    return _eval(session, script, numkeys, rest, read_only=True)


@script_call("EVALSHA sha1 numkeys [key [key ...]] [arg [arg ...]]", writes=True, since="2.6.0")
def evalsha(session: Session, sha1: bytes, numkeys: bytes, *rest: bytes) -> Reply:
    """Run a Lua script that the server knows."""
    return _eval_known(session, sha1, numkeys, rest, read_only=False)


@script_call("EVALSHA_RO sha1 numkeys [key [key ...]] [arg [arg ...]]", writes=False, since="7.0.0")
def evalsha_ro(session: Session, sha1: bytes, numkeys: bytes, *rest: bytes) -> Reply:
    """Run a Lua script that the server knows and that writes nothing."""
    return _eval_known(session, sha1, numkeys, rest, read_only=True)


container("SCRIPT", since="2.6.0")


@command(
    "SCRIPT LOAD script",
    "noscript stale",
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.6.0",
    tenants="own",
)
def script_load(session: Session, script: bytes) -> Reply:
    """Let the server know a script, and return its digest."""
    digest = session.server.scripting.load(session, script).digest
    if session.server.shared_code is not None:
        session.server.shared_code.tell_script(session, b"LOAD", script)
    return digest


@command(
    "SCRIPT EXISTS sha1 [sha1 ...]",
    "noscript",
    tips="request_policy:all_shards response_policy:agg_logical_and",
    since="2.6.0",
    tenants="own",
)
def script_exists(session: Session, *digests: bytes) -> Reply:
    """Say which of these scripts the server knows."""
    return [int(_find(session, digest) is not None) for digest in digests]


@command(
    "SCRIPT FLUSH [ASYNC|SYNC]",
    "noscript",
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.6.0",
    tenants="own",
)
def script_flush(session: Session, *mode: bytes) -> Reply:
    """Forget all scripts."""
    if len(mode) > 1 or (mode and mode[0].upper() not in (b"ASYNC", b"SYNC")):
        raise CommandError(errors.SCRIPT_FLUSH_MODE)
    session.server.scripting.flush(session)
    if session.server.shared_code is not None:
        session.server.shared_code.tell_script(session, b"FLUSH")
    return OK


@command(
    "SCRIPT KILL",
    "noscript allow_busy",
    tips="request_policy:all_shards response_policy:one_succeeded",
    since="2.6.0",
    tenants="own",
)
def script_kill(session: Session) -> Reply:
    """End the running scripts that have written nothing yet."""
    session.server.scripting.kill(session, "eval")
    return OK


@command("SCRIPT DEBUG YES|SYNC|NO", "noscript", arity=3, since="3.2.0", tenants="own")
def script_debug(session: Session, mode: bytes) -> Reply:
    """Accept the debug mode; scripts are run without a debugger."""
    if mode.upper() not in (b"YES", b"SYNC", b"NO"):
        raise CommandError(errors.SCRIPT_DEBUG_MODE)
    return OK


@command("SCRIPT HELP", "loading stale", since="5.0.0", tenants="own")
def script_help(session: Session) -> Reply:
    """Describe the subcommands."""
    return help_of("SCRIPT")
