"""CLIENT TRACKING: client-side caching, and what a client has asked for of it."""

from collections.abc import Iterable

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, integer
from stratakv.proxy.clients.session import Session
from stratakv.proxy.clients.tracking import Tracker
from stratakv.proxy.commands import clients  # noqa: F401  # CLIENT itself
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Members, Reply

command = CommandGroup("connection").command

_ANY = "noscript loading stale"


@command("CLIENT GETREDIR", _ANY, since="6.0.0", tenants="own")
def client_getredir(session: Session) -> int:
    """Return the connection that is told of changed keys instead of this one, if any."""
    return session.tracker.redirect if session.tracker is not None else -1


@command("CLIENT TRACKINGINFO", _ANY, since="6.2.0", tenants="own")
def client_trackinginfo(session: Session) -> Reply:
    """Return the state of client-side caching."""
    tracker = session.tracker
    if tracker is None:
        return {b"flags": Members([b"off"]), b"redirect": -1, b"prefixes": []}
    shown = {
        b"on": True,
        b"bcast": tracker.broadcasts,
        b"optin": tracker.opt_in,
        b"caching-yes": tracker.opt_in and tracker.is_caching,
        b"optout": tracker.opt_out,
        b"caching-no": tracker.opt_out and tracker.is_caching,
        b"noloop": tracker.no_loop,
        b"broken_redirect": tracker.is_broken,
    }
    return {
        b"flags": Members([flag for flag, holds in shown.items() if holds]),
        b"redirect": tracker.redirect,
        b"prefixes": sorted(tracker.prefixes),
    }


@command(
    "CLIENT TRACKING <ON|OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]]"
    " [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
    _ANY,
    since="6.0.0",
    tenants="own",
)
def client_tracking(session: Session, mode: bytes, *options: bytes) -> Reply:
    """Tell this connection when keys change that it has read, or all keys with some prefixes."""
    wanted, prefixes = _parse(session, Args(options))
    word = mode.upper()
    if word == b"ON":
        _check(session, wanted, prefixes)
        if wanted.broadcasts:
            wanted.prefixes = set(prefixes or [b""])
        session.server.tracking.begin(session, wanted)
    elif word == b"OFF":
        session.server.tracking.end(session)
    else:
        raise errors.syntax()
    return OK


def _parse(session: Session, args: Args) -> tuple[Tracker, list[bytes]]:
    wanted, prefixes = Tracker(), list[bytes]()
    while args:
        word = args.take().upper()
        if word == b"REDIRECT" and args:
            if wanted.redirect:
                raise CommandError(errors.TRACKING_ONE_REDIRECT)
            wanted.redirect = integer(args.take())
            target = session.server.sessions.get(wanted.redirect)
            if target is None or target.realm is not session.realm:
                raise CommandError(errors.TRACKING_NO_SUCH_CLIENT)
        elif word == b"PREFIX" and args:
            prefixes.append(args.take())
        elif word == b"BCAST":
            wanted.broadcasts = True
        elif word == b"OPTIN":
            wanted.opt_in = True
        elif word == b"OPTOUT":
            wanted.opt_out = True
        elif word == b"NOLOOP":
            wanted.no_loop = True
        else:
            raise errors.syntax()
    return wanted, prefixes


def _check(session: Session, wanted: Tracker, prefixes: list[bytes]) -> None:
    """Raise if the options do not go together, or with what holds already; in Redis's order."""
    old = session.tracker
    if prefixes and not wanted.broadcasts:
        raise CommandError(errors.TRACKING_PREFIX_ALONE)
    if old is not None and old.broadcasts != wanted.broadcasts:
        raise CommandError(errors.TRACKING_BCAST_SWITCH)
    if wanted.broadcasts and (wanted.opt_in or wanted.opt_out):
        raise CommandError(errors.TRACKING_BCAST_OPT)
    if wanted.opt_in and wanted.opt_out:
        raise CommandError(errors.TRACKING_BOTH_OPT)
    if old is not None and ((wanted.opt_in and old.opt_out) or (wanted.opt_out and old.opt_in)):
        raise CommandError(errors.TRACKING_OPT_SWITCH)
    _check_prefixes(prefixes, sorted(old.prefixes) if old is not None else [])


def _check_prefixes(prefixes: list[bytes], existing: Iterable[bytes]) -> None:
    """A key that changes is told once: no prefix begins like another."""
    for at, prefix in enumerate(prefixes):
        for other in existing:
            if _overlap(prefix, other):
                raise errors.prefixes_overlap(prefix, b"an existing", other)
        for other in prefixes[at + 1 :]:
            if _overlap(prefix, other):
                raise errors.prefixes_overlap(prefix, b"another provided", other)


def _overlap(one: bytes, other: bytes) -> bool:
    return one.startswith(other) or other.startswith(one)


@command("CLIENT CACHING <YES|NO>", _ANY, since="6.0.0", tenants="own")
def client_caching(session: Session, mode: bytes) -> Reply:
    """Remember the keys of the next command or transaction (OPTIN), or do not (OPTOUT)."""
    tracker = session.tracker
    if tracker is None:
        raise CommandError(errors.NO_TRACKING_MODE)
    word = mode.upper()
    if word not in (b"YES", b"NO"):
        raise errors.syntax()
    if word == b"YES" and not tracker.opt_in:
        raise CommandError(errors.CACHING_NEEDS_OPTIN)
    if word == b"NO" and not tracker.opt_out:
        raise CommandError(errors.CACHING_NEEDS_OPTOUT)
    tracker.is_caching = True
    return OK
