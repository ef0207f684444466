"""Two servers for a module, with nobody but the default user before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.access.pairs import Pair, Two


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    started = Pair.start(tmp_path_factory.mktemp("pair"))
    yield started
    started.stop()


@pytest.fixture
def admin(pair: Pair, protocol: int) -> Iterator[Two]:
    """Clients of the default user, once in RESP2 and once in RESP3."""
    with pair.clients(protocol) as two:
        for wire in two:
            wire.send("FLUSHALL")
            names = wire.send("ACL", "USERS").frame.blobs()
            wire.send("ACL", "DELUSER", "nobody", *(name for name in names if name != b"default"))
            wire.send(
                "ACL", "SETUSER", "default", "reset", "on", "nopass", "allkeys", "+@all", "&*"
            )
            wire.send("ACL", "LOG", "RESET")
        yield two


@pytest.fixture
def guest(pair: Pair, admin: Two, protocol: int) -> Iterator[Two]:
    """Further clients, who are the default user until they say otherwise."""
    with pair.clients(protocol) as two:
        yield two
