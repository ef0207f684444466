"""No command escapes the differential test by being forgotten."""

from __future__ import annotations

import os

import pytest

from tests.differential.inventory import COMMANDS, LATER, NOT_RANDOM, NOT_SERVED, OWN, SERVED
from tests.differential.strategies import GROUPS
from tests.differential.templates import lines
from tests.harness.wire import WireClient

TRANSACTIONS = {"MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH"}


def _with_template() -> set[str]:
    return {line.removeprefix("!").split()[0] for table in GROUPS.values() for line in lines(table)}


def _listed(wire: WireClient) -> set[str]:
    """What a server lists, subcommands included as `CONFIG|GET`."""
    return {name.decode().upper() for name in wire.send("COMMAND", "LIST").frame.blobs()}


def test_every_command_has_a_template_or_a_reason() -> None:
    assert len(SERVED) > 200
    assert _with_template() >= TRANSACTIONS
    assert SERVED - _with_template() - NOT_RANDOM.keys() == set()


def test_no_reason_is_out_of_date() -> None:
    assert NOT_RANDOM.keys() - SERVED == set()
    assert NOT_RANDOM.keys() & _with_template() == set()
    assert _with_template() - SERVED == set()


@pytest.mark.skipif(
    os.environ.get("STRATAKV_TEST_SUBJECT") == "redis", reason="Redis is its own subject"
)
def test_the_server_lists_what_the_table_has(strata_wire: WireClient) -> None:
    assert {name for name in _listed(strata_wire) if "|" not in name} == SERVED


def test_every_command_of_redis_is_served_or_has_a_reason(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    assert _listed(redis_wire) - _listed(strata_wire) == NOT_SERVED.keys()


def test_redis_knows_what_is_compared_with_it(redis_wire: WireClient) -> None:
    known = _listed(redis_wire)
    assert COMMANDS - known == set()
    assert (LATER | OWN) & known == set()
