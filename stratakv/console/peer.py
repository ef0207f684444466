"""What the server is, and what its user may do there.

Rights are asked of the server, by ACL DRYRUN, and never judged here: what the page leaves out would
be refused anyway. Who may not ask is shown everything, and refused by the server itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stratakv.console.client import Client
from stratakv.console.replies import Failure, Refused, Word

NAMESPACE: Final = "namespace"
"""The section of INFO that users have who are bound to one."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The server at the time of the login."""

    user: str
    is_strata: bool
    """Whether it is a StrataKV, and tells the user of itself: not of a namespace alone."""
    version: str
    """What the page calls it."""
    namespace: str = ""
    """To which the user is bound, if to any."""

    async def allows(self, client: Client, *commands: Sequence[Word]) -> list[bool]:
        """Whether the user may run each of some commands, as far as the server tells."""
        replies = await client.pipeline(
            [("ACL", "DRYRUN", self.user, *words) for words in commands]
        )
        return [isinstance(reply, Failure) or reply == b"OK" for reply in replies]


async def meet(client: Client, user: str) -> Peer:
    """Who the server is; raises `Refused` if it lets nobody in without a password."""
    asked = [("PING",), ("INFO", "server"), ("INFO", NAMESPACE), ("ACL", "WHOAMI")]
    ping, info, bound, name = await client.pipeline(asked)
    if isinstance(ping, Failure) and not str(ping).startswith("NOPERM"):
        raise Refused(str(ping))
    if isinstance(name, bytes):
        user = name.decode("utf-8", "replace")
    facts = parse_info(info) if isinstance(info, bytes) else {}
    is_strata = "stratakv_version" in facts or (not facts and await _has_strata(client))
    if is_strata:
        version = f"StrataKV {facts.get('stratakv_version', '')}".strip()
    else:
        version = f"Redis {facts.get('redis_version', '')}".strip()
    if namespace := namespace_of(bound):
        return Peer(user, False, f"{version}, namespace {namespace}", namespace)
    return Peer(user or "default", is_strata, version)


def namespace_of(info: Any) -> str:
    """The namespace that a reply to INFO tells of alone; empty if it tells of the server."""
    return parse_info(info).get("namespace", "") if isinstance(info, bytes) else ""


async def _has_strata(client: Client) -> bool:
    """For a user who may not read INFO: whether there is such a command."""
    (reply,) = await client.pipeline([("STRATA", "HELP")])
    return not isinstance(reply, Failure) or "unknown command" not in str(reply)


def parse_info(text: bytes) -> dict[str, str]:
    """INFO's lines."""
    lines = text.decode("utf-8", "replace").splitlines()
    return {name: value for name, mark, value in (line.partition(":") for line in lines) if mark}
