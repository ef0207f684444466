"""What CONFIG GET and SET know: our options, and the Redis names that clients and tools ask for.

Ours are the options (options.py); where Redis has the same name, the value is checked in Redis's
way and refused in its words. Views are Redis's names for an option of ours. All others are in
redis_names.py: followed, satisfied whatever their value, fixed, or facts that cannot be set.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from stratakv import options as declared_options
from stratakv.encodings.layout.globs import compile_glob
from stratakv.options import MAXMEMORY_POLICIES, BadOption, EffectFailed, Effects, Options
from stratakv.proxy.config.redis_names import (
    ALIASES,
    FACTS,
    FIXED,
    FOLLOWED,
    HIDDEN,
    PROTECTED_NAMES,
    SATISFIED,
)
from stratakv.proxy.config.value_kinds import (
    INT_MAX,
    LONG_MAX,
    Parse,
    Refused,
    dump_name,
    endings,
    event_classes,
    integer,
    memory,
    memory_or_percent,
    one_of,
    oom_score_adj,
    oom_scores,
    output_limits,
    save_points,
    yes_no,
)

IMMUTABLE: Final = "can't set immutable config"
PROTECTED: Final = "can't set protected config"
STORE_STAYS: Final = "the store is there, and stays"

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
    "port": integer(0, 65535),
    "tls-port": integer(0, 65535),
    "tls-auth-clients": one_of("no", "yes", "optional"),
    "tls-prefer-server-ciphers": lambda text: yes_no(text) == "yes",
    "tls-replication": lambda text: yes_no(text) == "yes",
    "requirepass": str,
    "acl-pubsub-default": one_of("allchannels", "resetchannels"),
    "acllog-max-len": integer(0, LONG_MAX),
    "maxmemory": memory(0),
    "maxmemory-policy": one_of(*MAXMEMORY_POLICIES),
    "maxmemory-clients": memory_or_percent,
    "lfu-log-factor": integer(0, INT_MAX),
    "lfu-decay-time": integer(0, INT_MAX),
    "save": save_points,
    "shutdown-on-sigint": endings,
    "shutdown-on-sigterm": endings,
    "shutdown-timeout": integer(0, INT_MAX),
    "oom-score-adj": oom_score_adj,
    "oom-score-adj-values": oom_scores,
    "bind-source-addr": str,
    "dbfilename": dump_name,
    "masteruser": str,
    "masterauth": str,
    "replica-read-only": lambda text: yes_no(text) == "yes",
    "replica-serve-stale-data": lambda text: yes_no(text) == "yes",
    "replica-priority": integer(0, INT_MAX),
    "replica-announce-ip": str,
    "replica-announce-port": integer(0, 65535),
    "repl-timeout": integer(1, INT_MAX),
    "repl-ping-replica-period": integer(1, INT_MAX),
    "repl-backlog-size": memory(1),
    "repl-backlog-ttl": integer(0, LONG_MAX),
    "min-replicas-to-write": integer(0, INT_MAX),
    "min-replicas-max-lag": integer(0, INT_MAX),
    "protected-mode": lambda text: yes_no(text) == "yes",
    "notify-keyspace-events": event_classes,
}
"""Options of ours that Redis has as well, with Redis's own limits."""

_IMMUTABLE_IN_REDIS: Final = {
    "aclfile",
    "daemonize",
    "databases",
    "enable-debug-command",
    "enable-protected-configs",
    "logfile",
    "pidfile",
    "replicaof",
    "supervised",
    "tcp-backlog",
    "unixsocket",
    "unixsocketperm",
}

_KEPT: Final = {**FOLLOWED, **SATISFIED}

_LEVELS: Final = {"debug": "debug", "verbose": "info", "notice": "warning", "warning": "error"}
"""Redis's names for how much is logged, and ours: the default is quiet in both."""
_SYNCS: Final = {"no": "os", "everysec": "everysec", "always": "always"}


@dataclass(frozen=True, slots=True)
class View:
    """Redis's name for an option: how its value is read, shown, and put into the option."""

    option: str
    parse: Parse
    show: Callable[["Settings"], str]
    translate: Callable[["Settings", str], str]


def _show_appendonly(settings: "Settings") -> str:
    return "yes" if settings.append_only or settings.show("durability") != "os" else "no"


def _show_appendfsync(settings: "Settings") -> str:
    """What is synced, or what `appendonly yes` would choose."""
    if _show_appendonly(settings) == "no":
        return settings.append_fsync
    return _inverse(_SYNCS)[settings.show("durability")]


def _turn_appendonly(settings: "Settings", value: str) -> str:
    mode = _SYNCS[_show_appendfsync(settings)] if value == "yes" else "os"
    settings.append_only = value == "yes"
    return mode


def _choose_appendfsync(settings: "Settings", value: str) -> str:
    settings.append_fsync = value
    return "os" if _show_appendonly(settings) == "no" else _SYNCS[value]


_VIEWS: Final = {
    "loglevel": View(
        "log-level",
        one_of(*_LEVELS),
        lambda settings: _inverse(_LEVELS)[settings.show("log-level")],
        lambda settings, value: _LEVELS[value],
    ),
    "appendonly": View("durability", yes_no, _show_appendonly, _turn_appendonly),
    "appendfsync": View(
        "durability", one_of("everysec", "always", "no"), _show_appendfsync, _choose_appendfsync
    ),
}


def _inverse(names: dict[str, str]) -> dict[str, str]:
    return {ours: theirs for theirs, ours in names.items()}


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A value that has been checked and waits for the others of its CONFIG SET."""

    name: str
    value: Any


class Settings:
    """The values of one server, and what follows from setting them."""

    def __init__(self, options: Options, effects: Effects) -> None:
        self._options = options
        self._effects = effects
        self._own = declared_options.declared()
        self._kept = {name: default for name, (default, _) in _KEPT.items()}
        self._touched: set[str] = set()
        self.append_only = False
        self.append_fsync = "everysec"
        """What `appendonly yes` makes of the durability."""
        self.begin()

    def begin(self) -> None:
        """What the options are now is how the server was started."""
        self._at_start = {name: self.show(name) for name in (*self._own, *_VIEWS, *self._kept)}

    def resume(self, values: Mapping[str, str]) -> None:
        """Take over what a redis.conf says beyond the options."""
        self.append_only = values.get("appendonly") == "yes"
        self.append_fsync = values.get("appendfsync", self.append_fsync)
        changes = [self.check(name, value) for name, value in values.items() if name in self._kept]
        self.apply(changes)

    def beyond_options(self, names: Iterable[str]) -> dict[str, str]:
        """Of these names those that are no options, with their values."""
        return {name: self.show(name) for name in names if name not in self._own}

    def behind(self, name: str) -> tuple[str, ...]:
        """What changes with a name: it, and the option that it is a view of."""
        name = ALIASES.get(name, name)
        return (name, _VIEWS[name].option) if name in _VIEWS else (name,)

    def __contains__(self, name: str) -> bool:
        return any(ALIASES.get(name, name) in names for names in (self._own, *_OTHERS))

    def names(self) -> Iterator[str]:
        """All names, aliases included, but for the hidden ones."""
        yield from self._own
        for names in _OTHERS:
            yield from (name for name in names if name not in HIDDEN and name not in self._own)
        yield from ALIASES

    def show(self, name: str) -> str:
        """The value of a name, as text. Requires: the name is one of ours."""
        name = ALIASES.get(name, name)
        if name in self._own:
            return declared_options.show(self._options, name)
        if name in _VIEWS:
            return _VIEWS[name].show(self)
        if name in FIXED:
            return FIXED[name].value
        return self._kept[name] if name in self._kept else FACTS[name]

    def changed(self) -> dict[str, str]:
        """The options that have, or have had, another value than at the start, as texts."""
        return self._changed(self._own)

    def changed_for_redis(self) -> dict[str, str]:
        """The same in Redis's names, where there is one, and with what are no options."""
        return self._changed(self._names_for_redis())

    def everything_for_redis(self) -> dict[str, str]:
        """All that a redis.conf can say, in the same names."""
        values = {name: self.show(name) for name in self._names_for_redis()}
        if not values["replicaof"]:
            del values["replicaof"]  # no line says that there is none
        return values

    def _names_for_redis(self) -> tuple[str, ...]:
        viewed = {view.option for view in _VIEWS.values()}
        own = (name for name in self._own if name not in viewed)
        return (*own, *_VIEWS, *self._kept)

    def _changed(self, names: Iterable[str]) -> dict[str, str]:
        now = {name: self.show(name) for name in names}
        self._touched.update(name for name in now if now[name] != self._at_start[name])
        return {name: now[name] for name in now if name in self._touched}

    def matching(self, pattern: str) -> dict[str, str]:
        """Names and values; a name without wildcards comes back as it was spelt."""
        lowered = pattern.lower()
        if not set(pattern) & set("*?["):
            return {pattern: self.show(lowered)} if lowered in self else {}
        matches = compile_glob(lowered.encode("latin-1"))
        return {name: self.show(name) for name in self.names() if matches(name.encode())}

    def immutable(self, name: str, *, is_local: bool = True) -> str:
        """Why a name cannot be set, or nothing; it may be one for clients of this machine."""
        if name in PROTECTED_NAMES:
            allowed = self._options.enable_protected_configs
            if allowed == "no" or (allowed == "local" and not is_local):
                return PROTECTED
            return STORE_STAYS if name == "dir" else ""
        return IMMUTABLE if name in FACTS or name in _IMMUTABLE_IN_REDIS else ""

    def check(self, name: str, text: str) -> SettingChange:
        """The value that a text stands for; raises `Refused`."""
        name = ALIASES.get(name, name)
        if name in _KEPT:
            return SettingChange(name, str(_KEPT[name][1](text)))
        if name in _VIEWS:
            return SettingChange(name, _VIEWS[name].parse(text))
        if name in FIXED:
            return self._as_it_is(name, text)
        if not self._own[name].metadata["live"]:
            return self._unchanged(name, text)
        if name == "client-output-buffer-limit":
            return SettingChange(name, output_limits(text, self.show(name)))
        if name in _IN_REDIS_TOO:
            return SettingChange(name, _IN_REDIS_TOO[name](text))
        try:
            return SettingChange(name, declared_options.parse(name, text))
        except BadOption as error:
            raise Refused(error.allowed) from None

    def _as_it_is(self, name: str, text: str) -> SettingChange:
        """A name that tunes what does not exist here may be set to what is the case."""
        value = str(FIXED[name].parse(text))
        if value != FIXED[name].value:
            raise Refused(FIXED[name].reason)
        return SettingChange(name, value)

    def _unchanged(self, name: str, text: str) -> SettingChange:
        """What only a restart changes may be set to what it is, as tools do that set it all."""
        if text != self.show(name):
            raise Refused(IMMUTABLE)
        return SettingChange(name, getattr(self._options, name.replace("-", "_")))

    def check_together(self, changes: Sequence[SettingChange]) -> None:
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
        declared_options.check_groups(wanted, {})

    def shown(self, change: SettingChange) -> tuple[str, str]:
        """The name of a change that was applied, and its value as logs may show it."""
        name = change.name
        return name, declared_options.without_secret(name, self.show(name)) or "nothing"

    def apply(self, changes: Sequence[SettingChange]) -> None:
        """Put checked values into force, all or none; raises `BadOption` for one that cannot be."""
        before = copy(self._options), dict(self._kept), self.append_only, self.append_fsync
        effects: dict[Callable[[Any], None], tuple[str, Any]] = {}
        for change in changes:
            name, value = self._assign(change)
            if name in self._effects:
                effects[self._effects[name]] = change.name, value
        done: list[str] = []
        for effect, (name, value) in effects.items():
            try:
                effect(value)
            except EffectFailed as failure:
                self._restore(*before, done)
                raise BadOption(name, None, str(failure)) from None
            done.append(name)

    def _assign(self, change: SettingChange) -> tuple[str, Any]:
        """Set a value; returns the option that it is about, and the option's value."""
        name, value = change.name, change.value
        if name in _VIEWS:
            view = _VIEWS[name]
            name, value = view.option, view.translate(self, value)
        if name in self._kept:
            self._kept[name] = value
        elif name in self._own:
            setattr(self._options, name.replace("-", "_"), value)
        return name, value

    def _restore(
        self,
        options: Options,
        kept: dict[str, str],
        append_only: bool,
        append_fsync: str,
        done: list[str],
    ) -> None:
        """Take everything back, and what has had its effect already."""
        for name in self._own:
            attribute = name.replace("-", "_")
            setattr(self._options, attribute, getattr(options, attribute))
        self._kept, self.append_only, self.append_fsync = kept, append_only, append_fsync
        for name in done:
            name = _VIEWS[name].option if name in _VIEWS else name
            value = kept[name] if name in kept else getattr(options, name.replace("-", "_"))
            self._effects[name](value)


_OTHERS: Final = (_KEPT, _VIEWS, FIXED, FACTS, PROTECTED_NAMES)
"""All names that are not our options."""
