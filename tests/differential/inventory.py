"""The commands that StrataKV serves, and those that random sequences leave to other tests."""

from __future__ import annotations

from typing import Final

from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.table.registry import TABLE, Command

SERVED: Final = frozenset(name.decode().upper() for name in TABLE)

_LATER = """
HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HPERSIST HTTL HPTTL HEXPIRETIME HPEXPIRETIME
HGETEX HSETEX HGETDEL
WAITAOF CLIENT|SETINFO CLIENT|NO-TOUCH
"""
LATER: Final = frozenset(_LATER.split())
"""Of Redis 7.2 to 8.0, which the redis-server of the tests, 7.0, does not know."""

OWN: Final = frozenset({"STRATA"})
COMMANDS: Final = SERVED - LATER - OWN
"""What the redis-server of the tests knows as well."""

GROWN: Final = {"ZRANK": -3, "ZREVRANK": -3}
"""Commands that took more arguments after Redis 7.0, and their arity since."""

NOT_RANDOM: Final = {
    "QUIT": "ends the connection: test_connection_state",
    "MONITOR": "turns the connection into a stream: test_connection_state",
    "BGSAVE": "depends on a child process of Redis that may still run: test_server",
    "MIGRATE": "needs a third server: commands/test_migrating",
    "BGREWRITEAOF": "depends on a child process of Redis that may still run: test_server",
    **dict.fromkeys(
        ("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"),
        "has several replies, and turns the connection into a stream: commands/test_pubsub",
    ),
    **dict.fromkeys(OWN, "our own, Redis does not know it"),
    **dict.fromkeys(
        (name for name in LATER if name.startswith("H")),
        "of Redis 7.4 and 8.0: commands/test_field_times",
    ),
    "WAITAOF": "of Redis 7.2: commands/test_server",
    **dict.fromkeys(
        ("FAILOVER", "PSYNC", "REPLCONF", "REPLICAOF", "SLAVEOF", "SYNC"),
        "changes the server's place, or turns the connection into a stream: tests/replication",
    ),
}

NOT_SERVED: Final = {"RESTORE-ASKING": "there is no cluster"}
"""Commands of Redis 7.0 that we do not have."""


def _known(entry: Command) -> list[str]:
    """The subcommands that Redis 7.0 knows too."""
    names = [sub.decode().upper() for sub in entry.subcommands]
    return [sub for sub in names if f"{entry.name.upper()}|{sub}" not in LATER]


CONTAINERS: Final = {
    entry.name.upper(): _known(entry)
    for entry in TABLE.values()
    if entry.container and entry.name.upper() in COMMANDS
}
