"""CONFIG: read and change the settings of a running server."""

import logging
from collections.abc import Mapping
from pathlib import Path

from stratakv import errors
from stratakv.encodings.keyspace.hits import HITS
from stratakv.errors import CommandError
from stratakv.options import BadOption
from stratakv.proxy.clients.session import Session
from stratakv.proxy.config import conf_rewrite
from stratakv.proxy.config.rewriting import Value, rewrite
from stratakv.proxy.config.settings import Settings
from stratakv.proxy.config.users import configured_lines
from stratakv.proxy.config.value_kinds import Refused
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import TABLE, CommandGroup
from stratakv.proxy.wire.replies import OK, Reply, Status

_GROUP = CommandGroup("server")
command, container = _GROUP.command, _GROUP.container

log = logging.getLogger("stratakv")

_ADMIN = "admin noscript loading stale"

container("CONFIG", since="2.0.0")


@command("CONFIG HELP", "loading stale", since="5.0.0", tenants="own")
def config_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("CONFIG")


@command("CONFIG GET parameter [parameter ...]", _ADMIN, since="2.0.0")
def config_get(session: Session, *patterns: bytes) -> Reply:
    """Return the settings whose names match one of the patterns."""
    found: dict[str, tuple[str, str]] = {}
    for pattern in patterns:
        for name, value in session.server.settings.matching(pattern.decode("latin-1")).items():
            found.setdefault(name.lower(), (name, value))
    return {name.encode("latin-1"): value.encode() for name, value in found.values()}


@command(
    "CONFIG SET parameter value [parameter value ...]",
    _ADMIN,
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.0.0",
)
def config_set(session: Session, *pairs: bytes) -> Reply:
    """Change settings: all of them, or none if one is refused."""
    if len(pairs) % 2:
        raise errors.syntax()
    settings = session.server.settings
    names = [name.decode("latin-1") for name in pairs[::2]]
    _check_names(settings, names, is_local=session.connection.is_local)
    changes = []
    for name, value in zip(names, pairs[1::2], strict=True):
        try:
            changes.append(settings.check(name.lower(), value.decode("utf-8", "surrogateescape")))
        except Refused as refusal:
            raise errors.config_refused(name.lower().encode("latin-1"), str(refusal)) from None
    try:
        settings.check_together(changes)
        settings.apply(changes)
    except BadOption as refusal:
        raise errors.config_refused(refusal.name.encode(), refusal.allowed) from None
    for change in changes:
        log.info("%s sets %s to %s", session.connection.address, *settings.shown(change))
    return OK


def _check_names(settings: Settings, names: list[str], *, is_local: bool) -> None:
    """Refuse names that are unknown, cannot be set, or stand there twice."""
    lowered = [name.lower() for name in names]
    for at, name in enumerate(names):
        if lowered[at] not in settings:
            raise errors.unknown_config(name.encode("latin-1"))
        reason = settings.immutable(lowered[at], is_local=is_local)
        if not reason and lowered[at] in lowered[:at]:
            reason = "duplicate parameter"
        if reason:
            raise errors.config_refused(name.encode("latin-1"), reason)


@command("CONFIG RESETSTAT", _ADMIN, since="2.0.0")
def config_resetstat(session: Session) -> Reply:
    """Start the counters of INFO anew."""
    session.server.stats.reset()
    session.server.housekeeper.reclaimer.expiry.expired_keys = 0
    session.server.keyspace.expired_fields = 0
    session.server.replication.reset_stats()
    HITS.further = HITS.missed = 0
    for entry in TABLE.values():
        for one in (entry, *entry.subcommands.values()):
            one.reset_stats()
    return OK


@command("CONFIG REWRITE", _ADMIN, since="2.8.0")
def config_rewrite(session: Session) -> Reply:
    """Put what was changed while the server ran into its file."""
    settings, options = session.server.settings, session.server.options
    is_like_redis = options.is_like_redis
    changed = settings.changed_for_redis() if is_like_redis else settings.changed()
    _write_into_file(session, changed)
    return OK


def rewrite_everything(session: Session) -> None:
    """Put all settings into the file (DEBUG CONFIG-REWRITE-FORCE-ALL), which is a redis.conf."""
    if not session.server.options.is_like_redis:
        raise CommandError(errors.NO_CONFIG_FILE)
    _write_into_file(session, session.server.settings.everything_for_redis())


def _write_into_file(session: Session, changed: Mapping[str, str]) -> None:
    options = session.server.options
    file = options.config
    if not file:
        raise CommandError(errors.NO_CONFIG_FILE)
    values: dict[str, Value] = {**changed, **_changed_users(session)}
    try:
        if options.is_like_redis:
            conf_rewrite.rewrite(Path(file), values, Path(options.started_in))
        else:
            rewrite(Path(file), values)
    except (OSError, ValueError) as failure:
        log.error("cannot rewrite %s: %s", file, failure)
        raise errors.no_config_rewrite(str(failure)) from None


def _changed_users(session: Session) -> dict[str, list[str]]:
    """The users, if there are others than at the start; those of an aclfile are kept there."""
    server = session.server
    lines = configured_lines(server.logins.users)
    if server.options.aclfile or lines == server.users_at_start:
        return {}
    return {"user": lines}
