"""COMMAND INFO: arity, flags and key positions are those of Redis for every command that StrataKV
lists.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.differential.inventory import GROWN, LATER, OWN
from tests.harness.servers import Process
from tests.harness.wire import Frame, WireClient

OUR_OWN = frozenset(name.lower() for name in LATER | OWN)
"""What Redis 7.0 does not know: our own, and commands of later versions."""


class Info(NamedTuple):
    arity: int | None
    flags: frozenset[str]
    keys: tuple[int | None, ...]


def infos(wire: WireClient, names: list[str]) -> dict[str, Info]:
    """By name, subcommands included as `config|get`. Names that the server does not know are left
    out.
    """
    found: dict[str, Info] = {}
    for frame in wire.send("COMMAND", "INFO", *names).frame.items or ():
        _collect(frame, found)
    return found


def _collect(frame: Frame, found: dict[str, Info]) -> None:
    if frame.is_null:
        return
    name, arity, flags, first, last, step, *rest = frame.items or ()
    words = frozenset((flag.data or b"").decode() for flag in flags.items or ())
    positions = (first.number, last.number, step.number)
    found[(name.data or b"").decode()] = Info(arity.number, words, positions)
    for sub in (rest[3].items or ()) if len(rest) > 3 else ():
        _collect(sub, found)


def listed(wire: WireClient) -> list[str]:
    """Top-level names; Redis lists subcommands too, as `config|get`."""
    names = [name.decode() for name in wire.send("COMMAND", "LIST").frame.blobs()]
    return sorted(name for name in names if "|" not in name)


@pytest.fixture
def both(
    redis_wire: WireClient, strata_wire: WireClient
) -> tuple[dict[str, Info], dict[str, Info]]:
    names = listed(strata_wire)
    assert len(names) > 100, names
    return infos(redis_wire, names), infos(strata_wire, names)


def differences(
    both: tuple[dict[str, Info], dict[str, Info]], field: str
) -> dict[str, tuple[object, object]]:
    redis, strata = both
    shared = [name for name in strata if name in redis]
    grown = {name.lower(): arity for name, arity in GROWN.items()}
    redis = {name: info._replace(arity=grown.get(name, info.arity)) for name, info in redis.items()}
    pairs = {name: (getattr(redis[name], field), getattr(strata[name], field)) for name in shared}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def test_redis_knows_every_command_but_our_own(
    both: tuple[dict[str, Info], dict[str, Info]],
) -> None:
    redis, strata = both
    ours = {name for name in strata if name.split("|")[0] not in OUR_OWN and name not in OUR_OWN}
    assert ours - redis.keys() == set()


@pytest.mark.parametrize("field", Info._fields)
def test_commands_agree_on(field: str, both: tuple[dict[str, Info], dict[str, Info]]) -> None:
    assert differences(both, field) == {}, "name: (redis, stratakv)"


def test_the_whole_table_is_the_sum_of_its_lines(strata_wire: WireClient) -> None:
    whole = strata_wire.send("COMMAND").frame.items or ()
    assert (
        len(whole) == strata_wire.send("COMMAND", "COUNT").frame.number == len(listed(strata_wire))
    )


@pytest.mark.parametrize("name", ["get", "GET", "nosuch", "config|get", "config|nosuch", ""])
def test_reply_has_the_shape_of_redis(
    name: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis, strata = (wire.send("COMMAND", "INFO", name).frame for wire in (redis_wire, strata_wire))
    assert _shape(strata) == _shape(redis)


def _shape(frame: Frame) -> object:
    items = frame.items or ()
    return [(item.kind, item.is_null, [part.kind for part in item.items or ()]) for item in items]


def test_servers_are_distinct(redis_server: Process, strata_server: Process) -> None:
    assert redis_server.pid != strata_server.pid
