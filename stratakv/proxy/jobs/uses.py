"""Whether uses of keys are counted: while maxmemory-policy is one with LFU.

Then every command is looked at for the keys that it names, and streaks rest.
"""

from typing import TYPE_CHECKING

from stratakv.encodings.keyspace.frequencies import Frequencies
from stratakv.options import Effects

if TYPE_CHECKING:
    from stratakv.proxy.server import Server


class KeyUses:
    """Turns the counting on and off."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._choose(None)

    @property
    def effects(self) -> Effects:
        """What setting its options does."""
        names = ("maxmemory-policy", "lfu-log-factor", "lfu-decay-time")
        return dict.fromkeys(names, self._choose)

    def _choose(self, _value: object) -> None:
        server, options = self._server, self._server.options
        is_wanted = options.maxmemory_policy.endswith("lfu")
        found = server.keyspace.frequencies
        if not is_wanted:
            server.keyspace.frequencies = None
        elif found is None:
            server.keyspace.frequencies = Frequencies(
                server.clock, options.lfu_log_factor, options.lfu_decay_time
            )
        else:
            found.log_factor = options.lfu_log_factor
            found.decay_minutes = options.lfu_decay_time
        server.dispatcher.guards.count_uses(is_wanted)
