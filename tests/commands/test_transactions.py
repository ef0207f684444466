"""What MULTI does with calls that are refused: the bytes of redis-server until the end."""

from __future__ import annotations

import pytest

from tests.harness.wire import WireClient, encode

REFUSED = """
EXEC x | exec a b c | DISCARD x | WATCH | MULTI x | MULTI | UNWATCH x | WATCH key | RESET x | AUTH
AUTH x | HELLO x | HELLO 9 | HELLO 2 x | HELLO 3 AUTH a | nosuch | nosuch a b | SAVE | SHUTDOWN x y
CLIENT | CLIENT nosuch | CLIENT ID x | CLIENT REPLY x | COMMAND nosuch | CONFIG GET | DEBUG | GET
EVAL | EVALSHA x 0 | FUNCTION | ACL | XGROUP | XGROUP CREATE | SUBSCRIBE | MONITOR | BLPOP key x
"""
CALLS = [call.strip() for line in REFUSED.strip().splitlines() for call in line.split("|")]
OUTSIDE = [call for call in CALLS if call not in ("MONITOR", "MULTI", "BLPOP key x", "WATCH key")]
"""Those that are refused outside of MULTI too."""


def said(client: WireClient, calls: list[str]) -> bytes:
    """All bytes of the replies to calls that are sent in one write."""
    client.write(b"".join(encode(*call.split()) for call in [*calls, "QUIT"]))
    return client.read_to_end()


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_call_in_a_transaction(
    call: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = ["MULTI", "SET key 1", call, "SET key 2", "EXEC", "PING", "GET key"]
    assert said(strata_wire, calls) == said(redis_wire, calls)


@pytest.mark.parametrize("call", OUTSIDE)
def test_a_refused_call_while_keys_are_watched(
    call: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = ["WATCH key", "SET key 0", call, "MULTI", "SET key 1", "EXEC", "GET key"]
    assert said(strata_wire, calls) == said(redis_wire, calls)


def test_exec_of_a_subscriber(redis_wire: WireClient, strata_wire: WireClient) -> None:
    calls = ["SUBSCRIBE channel", "EXEC", "EXEC x", "MULTI", "UNSUBSCRIBE channel", "PING"]
    assert said(strata_wire, calls) == said(redis_wire, calls)
