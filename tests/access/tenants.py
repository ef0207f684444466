"""A server with two tenants, `shop` and `other`, and an administrator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.harness.servers import Process
from tests.harness.wire import Arg, WireClient

RULES = ("on", ">secret", "~*", "&*", "+@all")
OK = b"+OK\r\n"


def bind(admin: WireClient, name: str, *rules: Arg) -> None:
    """A user who may do everything, in a namespace of that name."""
    reply = admin.send("ACL", "SETUSER", name, "reset", *RULES, f"namespace={name}", *rules)
    assert reply.raw == OK, reply


@contextmanager
def client(server: Process, name: str, protocol: int = 2) -> Iterator[WireClient]:
    """A client of such a user."""
    with server.client(protocol) as wire:
        assert wire.send("AUTH", name, "secret").raw == OK
        yield wire


def is_refused(wire: WireClient, *request: Arg) -> bool:
    """Whether a command is not for tenants."""
    text = wire.send(*request).raw
    return text.startswith(b"-NOPERM users of a namespace have no permissions")


def facts(wire: WireClient, *request: Arg) -> dict[bytes, object]:
    """A map of a reply, whatever is in it."""
    pairs = wire.send(*request).frame.pairs()
    return {name.data or b"": str(value) for name, value in pairs}


def quota(admin: WireClient, *words: Arg) -> None:
    """Give `shop` a quota."""
    reply = admin.send("STRATA", "NAMESPACE", "QUOTA", "shop", *words)
    assert reply.raw == OK, reply
