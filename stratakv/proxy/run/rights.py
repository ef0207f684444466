"""Rights where commands run: refusals in Redis's words, noted for ACL LOG.

Who is asked, and when: every command when it comes, also between MULTI and EXEC; those of a
transaction once more when they run; those of scripts and functions as the user who called them.
"""

from functools import partial
from typing import Final

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.access.checking import (
    AUTH,
    CHANNEL,
    COMMAND,
    KEY,
    TENANT,
    Denial,
    check,
)
from stratakv.proxy.access.denials import LUA, MULTI, TOP_LEVEL, Entry
from stratakv.proxy.access.users import Verdict
from stratakv.proxy.clients.session import RESTRICTED, Session
from stratakv.proxy.observe.client_lines import client_line
from stratakv.proxy.run import quotas
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

STREAK_MOST: Final = 64
"""Requests that are looked at ahead: as many as a streak serves at most."""
_IN_EXEC: Final = {
    COMMAND: b"no permission to execute the command or subcommand",
    KEY: b"no permission to touch the specified keys",
    CHANNEL: b"no permission to access one of the channels used as arguments",
    TENANT: b"no permission to execute the command or subcommand",
}
_IN_SCRIPT: Final = {
    COMMAND: b"can't run this command or subcommand",
    KEY: b"can't access at least one of the keys mentioned in the command arguments",
    CHANNEL: b"can't publish to the channel mentioned in the command",
    TENANT: b"can't run this command or subcommand",
}


def refusal(session: Session, entry: Command, request: Request) -> CommandError | None:
    """Why a client may not send a request. Requires: it is restricted."""
    if check(session.user, entry, request) is None:
        return quotas.refusal(session, entry, request) if session.realm.id else None
    denial = _denied(session, entry, request, TOP_LEVEL if session.transaction is None else MULTI)
    assert denial is not None
    if denial.reason == COMMAND:
        return errors.no_permission(entry.name)
    if denial.reason == TENANT:
        return errors.not_for_tenants(entry.name)
    is_key = denial.reason == KEY
    return CommandError(
        errors.NO_PERMISSION_FOR_KEYS if is_key else errors.NO_PERMISSION_FOR_CHANNELS
    )


def lets_pass(session: Session, entry: Command, request: Request) -> bool:
    """Whether a request may run, as far as can be told at once: the usual case, in which nothing
    else is unusual. Requires: the client is restricted.

    `Dispatcher._admit` looks at everything else too, one thing after the other.
    """
    if session.realm.id:
        return False
    verdict = session.user.verdicts.get(entry)
    return verdict is not None and verdict.passes(request)


def serve_streak(session: Session, entry: Command, requests: list[Request], first: int) -> int:
    """Let a streak serve requests from one on, which is allowed, up to the first that may not be.

    Of the others nothing is noted: each is looked at once more when it is its turn.
    """
    assert entry.streak is not None
    verdict, realm = session.user.verdicts[entry], session.realm
    if entry.is_write and realm.limits_writes:
        served = entry.streak(session, requests[first : first + 1], 0)
    elif verdict.is_free:
        served = entry.streak(session, requests, first)
    else:
        served = entry.streak(session, _allowed(verdict, requests, first), 0)
    realm.operations += max(0, served - 1)
    return served


def _allowed(verdict: Verdict, requests: list[Request], first: int) -> list[Request]:
    """The first request, and those with as many arguments that follow at once and may use their
    keys, whatever they are: the streak serves none but those of its command.

    Two loops, since there are many requests in a pipeline and the look at each is what rights cost:
    0.09 us of a GET of 1.06 us with one loop for both, and the command's name compared as well.
    """
    at, prefixes, matches = verdict.key_at, verdict.prefixes, verdict.matches
    count = len(requests[first])
    if not 0 < at < count <= verdict.most_args:
        return requests[first : first + 1]
    stop = min(len(requests), first + STREAK_MOST)
    number = first + 1
    if prefixes:
        while number < stop:
            request = requests[number]
            if len(request) != count or not request[at].startswith(prefixes):
                break
            number += 1
    else:
        while number < stop:
            request = requests[number]
            if len(request) != count or not matches(request[at]):
                break
            number += 1
    return requests if not first and number == len(requests) else requests[first:number]


def refusal_in_exec(session: Session, entry: Command, request: Request) -> CommandError | None:
    """Why a queued command may no longer run."""
    denial = _denied(session, entry, request, MULTI)
    if denial is None:
        return quotas.refusal(session, entry, request) if session.realm.id else None
    return CommandError(errors.NO_LONGER_ALLOWED % _IN_EXEC[denial.reason])


def refusal_in_script(session: Session, entry: Command, request: Request) -> CommandError | None:
    """Why a script may not call a command for its user."""
    denial = _denied(session, entry, request, LUA)
    if denial is None:
        return quotas.refusal(session, entry, request) if session.realm.id else None
    return CommandError(errors.SCRIPT_NO_PERMISSION % _IN_SCRIPT[denial.reason])


def _denied(session: Session, entry: Command, request: Request, context: bytes) -> Denial | None:
    if not session.guards & RESTRICTED:
        return None
    denial = check(session.user, entry, request)
    if denial is not None:
        is_whole = denial.reason in (COMMAND, TENANT)
        what = entry.name.encode() if is_whole else request[denial.at]
        _note(session, Entry(denial.reason, context, what, session.user.name))
    return denial


def note_wrong_password(session: Session, user: bytes) -> None:
    """A client did not know the password of a user."""
    context = TOP_LEVEL if session.transaction is None else MULTI
    _note(session, Entry(AUTH, context, session.request[0], user))


def _note(session: Session, entry: Entry) -> None:
    """For ACL LOG; within a unit when it has ended, since it may begin anew."""
    note = partial(session.server.logins.log.add, entry, client_line(session, running=0))
    if session.unit is None:
        note()
    else:
        session.txn.when_applied(note)
