"""No command escapes the differential test by being forgotten."""

from __future__ import annotations

from tests.differential.inventory import COMMANDS, NOT_RANDOM
from tests.differential.strategies import GROUPS
from tests.differential.templates import lines
from tests.harness.wire import WireClient


def _with_template() -> set[str]:
    return {line.removeprefix("!").split()[0] for table in GROUPS.values() for line in lines(table)}


def _listed(wire: WireClient) -> set[str]:
    names = [name.decode().upper() for name in wire.send("COMMAND", "LIST").frame.blobs()]
    return {name for name in names if "|" not in name}


def test_every_command_of_the_inventory_has_a_template() -> None:
    assert COMMANDS - _with_template() - NOT_RANDOM.keys() == set()


def test_every_command_that_the_server_lists_has_a_template(strata_wire: WireClient) -> None:
    listed = _listed(strata_wire)
    if len(listed) > 230:
        return  # redis-server as its own subject lists what StrataKV does not serve
    assert listed - _with_template() - NOT_RANDOM.keys() == set()


def test_every_command_of_the_inventory_is_listed_by_the_server(strata_wire: WireClient) -> None:
    listed = _listed(strata_wire)
    assert COMMANDS - listed == set()
