"""How many keys expire soon: asked of StrataKV twice a minute, in all databases that have such."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stratakv.console.client import Client
from stratakv.console.replies import Failure, Refused

EVERY_SECONDS: Final = 30.0
WITHIN: Final = {"expiring.minute": 60, "expiring.hour": 3600}
"""The times that are asked for, by the names of their series."""


@dataclass(slots=True)
class Forecast:
    """What is known of one server."""

    run_id: str = ""
    asked: float = 0.0
    keys: dict[str, float] = field(default_factory=dict)
    """By series; nothing while it may not be asked."""
    is_cut: bool = False
    """Whether there may be more than were counted."""

    async def renew(self, client: Client, info: Mapping[str, str], now: float) -> None:
        """Ask again, if it is time to. Raises `Away`."""
        run_id = info.get("run_id", "")
        if run_id == self.run_id and now - self.asked < EVERY_SECONDS:
            return
        self.run_id, self.asked = run_id, now
        keys = dict.fromkeys(WITHIN, 0.0)
        is_cut = False
        for db in _databases(info):
            found = await _ask(client, db)
            if found is None:
                self.keys, self.is_cut = {}, False
                return
            for name, (_, count, is_all) in zip(WITHIN, found, strict=True):
                keys[name] += count
                is_cut = is_cut or not is_all
        self.keys, self.is_cut = keys, is_cut


def _databases(info: Mapping[str, str]) -> list[int]:
    """Those that have keys with an expire-time."""
    return [
        int(name[2:])
        for name, value in info.items()
        if name.startswith("db") and name[2:].isdigit() and ",expires=0," not in value
    ]


async def _ask(client: Client, db: int) -> Any:
    try:
        (reply,) = await client.pipeline([("STRATA", "EXPIRING", *WITHIN.values())], db=db)
    except Refused:  # the database
        return None
    return None if isinstance(reply, Failure) else reply
