"""Whether a user may send a request, and if not, why.

What a user may do with a command whatever its arguments are is found out once and kept with the
user: most requests of most users cost one look-up. Where keys or channels have to be looked at,
the places of the keys of a usual command are known ahead, and only the patterns are left to ask.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stratakv.proxy.access.selectors import READ, WRITE, Selector
from stratakv.proxy.access.users import User, Verdict
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

COMMAND: Final = 1
KEY: Final = 2
CHANNEL: Final = 3
AUTH: Final = 4
TENANT: Final = 5
"""Reasons; of several selectors the one is told that came furthest, so their order counts."""

_WRITES: Final = frozenset({"insert", "delete", "update"})

Wanted = Sequence[tuple[int, int]]
"""Keys: where each stands in a request, and the permissions that it needs."""


class Denial(NamedTuple):
    """Why a request is refused, and which argument it is about."""

    reason: int
    at: int


def check(user: User, entry: Command, request: Request) -> Denial | None:
    """Why a user may not send a request, None if it may."""
    verdict = user.verdicts.get(entry)
    if verdict is None:
        verdict = user.verdicts[entry] = _judge(user, entry)
    if verdict.passes(request):
        return None
    if verdict.is_barred:
        return Denial(TENANT, 0)
    worst = Denial(COMMAND, 0)
    wanted = wanted_keys(entry, request)
    for selector in user.selectors:
        denial = _check(selector, entry, request, wanted)
        if denial is None:
            return None
        worst = max(worst, denial)
    return worst


def may_read_all_keys(user: User, entry: Command, request: Request) -> bool:
    """Whether a selector that allows the request lets all keys be read as well (SORT's BY)."""
    wanted = wanted_keys(entry, request)
    return any(
        selector.reads_everything() and _check(selector, entry, request, wanted) is None
        for selector in user.selectors
    )


def _judge(user: User, entry: Command) -> Verdict:
    """What can be known of a command before its arguments are."""
    if user.namespace and not entry.serves_tenants:
        return Verdict(is_free=False, key_at=0, most_args=0, matches=bool, is_barred=True)
    is_free = any(_is_free(selector, entry) for selector in user.selectors)
    able = [selector for selector in user.selectors if selector.grants(entry)]
    wanted = _short_keys(entry) if able and not entry.channels else ()
    if is_free or len(wanted) != 1:
        return Verdict(is_free=is_free, key_at=0, most_args=0, matches=bool)
    at, permissions = wanted[0]
    most = entry.max_args if _fixed_keys(entry) is not None else entry.min_args
    return Verdict(
        is_free=False,
        key_at=at,
        most_args=most,
        matches=able[0].matcher(permissions),
        prefixes=able[0].prefixes(permissions),
    )


def _short_keys(entry: Command) -> Wanted:
    """The keys of a request with the least arguments, where these do not say where they are."""
    if entry.key_uses is not None or any(
        spec.find != "range" or spec.keyword for spec in entry.key_specs
    ):
        return ()
    request = [b""] * entry.min_args
    return [(at, _permissions(flags)) for at, flags in entry.find_key_uses(request)]


def _is_free(selector: Selector, entry: Command) -> bool:
    """Whether a selector allows a command whatever its arguments are."""
    return (
        selector.grants(entry)
        and (selector.all_keys or not _has_keys(entry))
        and (selector.all_channels or not entry.channels)
    )


def _check(selector: Selector, entry: Command, request: Request, wanted: Wanted) -> Denial | None:
    if not selector.grants(entry) and not _allows_argument(selector, entry, request):
        return Denial(COMMAND, 0)
    if not selector.all_keys:
        for at, permissions in wanted:
            if not selector.allows_key(request[at], permissions):
                return Denial(KEY, at)
    if entry.channels and not selector.all_channels:
        stop = min(2, len(request)) if entry.channels == "first" else len(request)
        is_pattern = entry.channels == "patterns"
        for at in range(1, stop):
            if not selector.allows_channel(request[at], is_pattern=is_pattern):
                return Denial(CHANNEL, at)
    return None


def _allows_argument(selector: Selector, entry: Command, request: Request) -> bool:
    words = selector.first_arguments.get(entry)
    if words is None or len(request) < 2:
        return False
    given = request[1].partition(b"\0")[0].lower()
    return any(word.lower() == given for word in words)


# keys


def wanted_keys(entry: Command, request: Request) -> Wanted:
    """The keys of a request, and what has to be permitted with each; too short a one has none."""
    if len(request) < entry.min_args:
        return ()
    fixed = _fixed_keys(entry)
    if fixed is not None:
        return fixed
    return [(at, _permissions(flags)) for at, flags in entry.find_key_uses(request)]


def _permissions(flags: Sequence[str]) -> int:
    """What Redis's words for the use of a key ask for."""
    reads = READ if "access" in flags else 0
    return reads if _WRITES.isdisjoint(flags) else reads | WRITE


def _has_keys(entry: Command) -> bool:
    return any("not_key" not in spec.flags for spec in entry.key_specs)


_FIXED: Final[dict[Command, tuple[tuple[int, int], ...] | None]] = {}
"""Keys whose places are the same in all requests of a command, for commands met so far."""


def _fixed_keys(entry: Command) -> tuple[tuple[int, int], ...] | None:
    """The keys of a command, None if they depend on the request."""
    try:
        return _FIXED[entry]
    except KeyError:
        found = _FIXED[entry] = _find_fixed_keys(entry)
        return found


def _find_fixed_keys(entry: Command) -> tuple[tuple[int, int], ...] | None:
    if entry.key_uses is not None or entry.key_flags_finder is not None:
        return None
    found: list[tuple[int, int]] = []
    for spec in entry.key_specs:
        if "not_key" in spec.flags:
            continue
        last = spec.begin + spec.last
        if spec.find != "range" or spec.keyword or spec.last < 0 or last >= entry.min_args:
            return None
        permissions = _permissions(spec.flags)
        found += [(at, permissions) for at in range(spec.begin, last + 1, spec.step)]
    return tuple(found)
