"""What CONFIG GET and SET know: our options, and the Redis names that clients and tools ask for.

Three sorts of names. Ours are the options (options.py); where Redis has the same name, the value is
checked in Redis's way and refused in its words. Kept ones are accepted, remembered and have no
effect, because what they tune does not exist here. Facts cannot be set.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from stratakv import options as declared_options
from stratakv.encodings.globs import compile_glob
from stratakv.options import BadOption, Options
from stratakv.proxy.config_names import ALIASES, FACTS, HIDDEN, KEPT, PROTECTED_NAMES
from stratakv.proxy.config_values import (
    INT_MAX,
    LONG_MAX,
    Parse,
    Refused,
    event_classes,
    integer,
    memory,
    output_limits,
)

IMMUTABLE: Final = "can't set immutable config"
PROTECTED: Final = "can't set protected config"

_IN_REDIS_TOO: Final[dict[str, Parse]] = {
    "timeout": integer(0, INT_MAX),
    "maxclients": integer(1, (1 << 32) - 1),
    "tcp-keepalive": integer(0, INT_MAX),
    "proto-max-bulk-len": memory(1 << 20),
    "client-query-buffer-limit": memory(1 << 20),
    "slowlog-log-slower-than": integer(-1, LONG_MAX),
    "slowlog-max-len": integer(0, LONG_MAX),
    "latency-monitor-threshold": integer(0, LONG_MAX),
    "busy-reply-threshold": integer(0, INT_MAX),
    "requirepass": str,
    "notify-keyspace-events": event_classes,
}
"""Options of ours that Redis has as well, with Redis's own limits."""

_IMMUTABLE_IN_REDIS: Final = {"databases", "tcp-backlog", "unixsocket", "unixsocketperm"}


@dataclass(frozen=True, slots=True)
class Change:
    """A value that has been checked and waits for the others of its CONFIG SET."""

    name: str
    value: Any


class Settings:
    """The values of one server. `on_change` hears the name of each option that was set."""

    def __init__(self, options: Options, on_change: Callable[[str], None]) -> None:
        self._options = options
        self._on_change = on_change
        self._own = declared_options.declared()
        self._kept = {name: default for name, (default, _) in KEPT.items()}

    def __contains__(self, name: str) -> bool:
        name = ALIASES.get(name, name)
        return name in self._own or name in self._kept or name in FACTS or name in PROTECTED_NAMES

    def names(self) -> Iterator[str]:
        """All names, aliases included, but for the hidden ones."""
        yield from self._own
        yield from (name for name in self._kept if name not in HIDDEN)
        yield from FACTS
        yield "dbfilename"
        yield from ALIASES

    def show(self, name: str) -> str:
        """The value of a name, as text. Requires: the name is one of ours."""
        name = ALIASES.get(name, name)
        if name in self._own:
            return declared_options.show(self._options, name)
        return self._kept.get(name, FACTS.get(name, "dump.rdb"))

    def matching(self, pattern: str) -> dict[str, str]:
        """Names and values; a name without wildcards comes back as it was spelt."""
        lowered = pattern.lower()
        if not set(pattern) & set("*?["):
            return {pattern: self.show(lowered)} if lowered in self else {}
        matches = compile_glob(lowered.encode("latin-1"))
        return {name: self.show(name) for name in self.names() if matches(name.encode())}

    def immutable(self, name: str) -> str:
        """Why a name can never be set, or nothing."""
        name = ALIASES.get(name, name)
        if name in PROTECTED_NAMES:
            return PROTECTED
        return IMMUTABLE if name in FACTS or name in _IMMUTABLE_IN_REDIS else ""

    def check(self, name: str, text: str) -> Change:
        """The value that a text stands for; raises `Refused`."""
        name = ALIASES.get(name, name)
        if name in KEPT:
            return Change(name, str(KEPT[name][1](text)))
        if not self._own[name].metadata["live"]:
            return self._unchanged(name, text)
        if name == "client-output-buffer-limit":
            return Change(name, output_limits(text, self.show(name)))
        if name in _IN_REDIS_TOO:
            return Change(name, _IN_REDIS_TOO[name](text))
        try:
            return Change(name, declared_options.parse(name, text))
        except BadOption as error:
            raise Refused(error.allowed) from None

    def _unchanged(self, name: str, text: str) -> Change:
        """What only a restart changes may be set to what it is, as tools do that set it all."""
        if text != self.show(name):
            raise Refused(IMMUTABLE)
        return Change(name, getattr(self._options, name.replace("-", "_")))

    def check_together(self, changes: Sequence[Change]) -> None:
        """Refuse, with the name in front, what does not go with the rest; raises `BadOption`.

        A version that needs a Redis may be set along with it. Taking the Redis away is always
        possible: keys are then served from the store.
        """
        wanted = copy(self._options)
        for change in changes:
            if change.name in self._own:
                setattr(wanted, change.name.replace("-", "_"), change.value)
        for change in changes:
            kind, _, rest = change.name.partition("-")
            if rest == "encoding":
                declared_options.check_version(wanted, kind, change.value, change.name)

    def apply(self, change: Change) -> None:
        """Put a checked value into force."""
        if change.name in self._kept:
            self._kept[change.name] = change.value
        else:
            setattr(self._options, change.name.replace("-", "_"), change.value)
        self._on_change(change.name)
