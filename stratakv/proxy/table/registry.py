"""The command table: a line of Redis syntax per command, from which everything else follows.

    command = CommandGroup("set").command

    @command("SADD key member [member ...]", "write denyoom fast", key_flags="RW insert")
    def sadd(txn: Txn, key: bytes, *members: bytes) -> int:
        '''Add members to a set.'''

Name, arity, key positions, ACL categories, COMMAND's answer and the docs page come from that line,
and no fact of a command stands anywhere else. A handler whose first parameter is `txn` works on
keys; one whose first is `session` works on the connection or the server.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import frexp
from typing import Any, Final, TypeVar

from stratakv.encodings.keyspace.hits import HITS
from stratakv.encodings.keyspace.locks import EVERYTHING, NOTHING, Claim, claim
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.numbers import parse_int
from stratakv.proxy.table import categories as acl
from stratakv.proxy.table import keyspecs
from stratakv.proxy.table.keyspecs import KeySpec, KeyUse
from stratakv.proxy.table.summaries import summary_of

Handler = Callable[..., Any]
Streak = Callable[[Any, list[list[bytes]], int], int]
"""(session, requests, place of the first) -> how many were served."""
EffectFinder = Callable[[Txn, Sequence[bytes], Any], Iterable[Sequence[bytes]]]
"""(txn, request, reply) -> the commands that give a replica what the request has written."""
KeyFinder = Callable[[Sequence[bytes]], list[bytes]]
KeyFlagsFinder = Callable[[Sequence[bytes]], str]
KeyUsesFinder = Callable[[Sequence[bytes]], list[KeyUse]]
H = TypeVar("H", bound=Handler)

_TOKEN = re.compile(r"\[|\]|\.\.\.|<|>|\||[^\s\[\]<>|]+")
_KEY_WORDS: Final = frozenset({"key", "source", "destination", "newkey", "key1", "key2"})


class Command:
    """A command or subcommand: its facts, its handler and its statistics."""

    def __init__(
        self,
        syntax: str,
        flags: str,
        handler: Handler,
        *,
        group: str,
        keys: tuple[int, int, int] | None = None,
        key_finder: KeyFinder | None = None,
        arity: int | None = None,
        since: str = "1.0.0",
        container: bool = False,
        categories: str | None = None,
        tips: str = "",
        key_flags: str = "",
        key_notes: str = "",
        key_flags_finder: KeyFlagsFinder | None = None,
        key_specs: tuple[KeySpec, ...] | None = None,
        key_uses: KeyUsesFinder | None = None,
        channels: str = "",
        traits: str = "",
        constant: bytes | None = None,
        streak: Streak | None = None,
        effect: EffectFinder | None = None,
        tenants: str = "",
    ) -> None:
        words = syntax.split()
        depth = 2 if _names_subcommand(words) else 1
        self.words = tuple(word.lower() for word in words[:depth])
        self.name = "|".join(self.words)
        self.syntax = syntax
        self.flags = frozenset(flags.split())
        self.traits = frozenset(traits.split())
        """Facts that COMMAND does not tell: `immediate` runs inside MULTI instead of being queued,
        `final` ends MULTI even if it is refused, `unit` works on the keys of other commands,
        `script` does what a script or function declares, `subscriber` is for subscribed clients
        too, `replicates` may write though it is no write command, `elsewhere` may make its key in
        another database, `peeks` is no use of its keys, `slot` takes the number of a slot first
        and is about its keys."""
        self.is_immediate = "immediate" in self.traits
        self.is_vicarious = not self.traits.isdisjoint(("final", "script"))
        """Whether what it does is what others do: a script, or the commands of a transaction."""
        self.constant = constant
        """The reply to the bare command while nothing is unusual about the client or the server."""
        self.handler = handler
        self.streak = streak
        """Serves runs of the command in a pipeline, if it can; see streaks.py."""
        self.effect = effect
        """What replicas are told instead of the request; see effects.py."""
        self.group = group
        """Redis's name of it."""
        self.since = since
        self.container = container
        self.subcommands: dict[bytes, Command] = {}
        self.arity = arity if arity is not None else _arity(" ".join(words[depth:]), depth)
        numkeys = _numkeys_position(words)
        if keys is None:
            keys = (0, 0, 0) if numkeys else _key_positions(words[depth:], depth)
        self.keys = keys
        self.key_finder = key_finder
        if key_finder is None and numkeys:
            self.key_finder = partial(numbered_keys, numkeys)
        self.key_uses = key_uses
        """Where its keys stand and what is done with each, where no specification tells."""
        if key_uses is not None:
            self.key_finder = partial(_used_keys, key_uses)
        self.channels = channels
        """Which arguments name channels of others: the `first`, all are `names`, or `patterns`."""
        self.takes_session = _first_parameter(handler) == "session"
        self.is_write = "write" in self.flags
        self.serves_tenants = self._decide_on_tenants(tenants)
        """Whether it is for users who are bound to a namespace."""
        self.only_reads = "readonly" in self.flags and not self.takes_session
        """Whether it does nothing but read keys."""
        self.touches_keys = self.keys[0] > 0 or self.key_finder is not None
        self.uses_keys = self.touches_keys and "peeks" not in self.traits
        """Whether a key that it names is used by it."""
        self.is_routed = self.touches_keys or not self.traits.isdisjoint(("final", "slot"))
        """Whether a node of a cluster has to see whose its keys are."""
        named = acl.of_group(group) if categories is None else categories
        self.categories: frozenset[str] = acl.of_command(self.flags, named.split())
        """ACL categories, without the @."""
        self.tips: tuple[str, ...] = tuple(tips.split())
        """Hints for clients of a cluster."""
        self.key_flags_finder = key_flags_finder
        """What a request does with its keys, where its options decide."""
        if key_specs is None:
            key_specs = self._derive_key_specs(words, key_flags, key_notes)
        self.key_specs: tuple[KeySpec, ...] = key_specs
        """Where the keys stand and what the command does with them."""
        self._touches_unnamed = not self.flags.isdisjoint(("write", "readonly")) or (
            "replicates" in self.traits and "unit" in self.traits
        )
        self.is_told = "unit" not in self.traits and (self.is_write or "replicates" in self.traits)
        """Whether replicas hear of it when it has written."""
        self.min_args = abs(self.arity)
        self.max_args = self.arity if self.arity > 0 else 1 << 30
        self.reset_stats()

    def _decide_on_tenants(self, said: str) -> bool:
        """A command is `own` if all that it shows or changes is the namespace's own, or nobody's.
        One over a Txn is, unless it is said to be `barred`; one for administrators is not."""
        assert said in ("", "own", "barred"), self.name
        self.has_tenancy = bool(said) or not self.takes_session or "admin" in self.flags
        """Whether that is decided; a test asks."""
        if said:
            return said == "own"
        return not self.takes_session and "admin" not in self.flags

    def _derive_key_specs(self, words: list[str], flags: str, notes: str) -> tuple[KeySpec, ...]:
        """What follows from the positions of the keys and from whether the command writes."""
        if not self.touches_keys:
            return ()
        own = flags or ("RW access update" if self.is_write else "RO access")
        if self.key_flags_finder is not None:
            own += " variable_flags"
        return keyspecs.from_positions(words, self.keys, own, notes)

    def reset_stats(self) -> None:
        """Start counting anew (CONFIG RESETSTAT)."""
        self.seconds = 0.0
        self.rejected = 0
        self.failed = 0
        self.missed = 0
        """Keys that were not there."""
        self.buckets = [0] * 40
        """Calls by duration: bucket n holds those below about 2**n microseconds."""

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return summary_of(self.handler)

    @property
    def calls(self) -> int:
        """How often the command ran."""
        return sum(self.buckets)

    def count(self, seconds: float, calls: int = 1) -> None:
        """Count calls that took so long together."""
        self.seconds += seconds
        if calls:
            self.buckets[frexp(seconds / calls * 1e6 + 0.5)[1]] += calls
        if HITS.missed:
            self.missed += HITS.missed
            HITS.missed = 0

    def tell(self, txn: Txn, request: Sequence[bytes], reply: Any) -> None:
        """Let replicas know what a request has written. Requires: it is not applied yet."""
        if not self.is_told:
            return
        if self.effect is None:
            txn.tell(request)
            return
        for words in self.effect(txn, request, reply):
            txn.tell(words)

    def find_keys(self, request: Sequence[bytes]) -> list[bytes]:
        """The keys that a request names. Requires: its arity is right."""
        if self.key_finder is not None:
            return self.key_finder(request)
        first, last, step = self.keys
        if first == 0:
            return []
        stop = last if last >= 0 else len(request) + last
        return list(request[first : stop + 1 : step])

    def find_key_uses(self, request: Sequence[bytes]) -> list[KeyUse]:
        """Where the keys of a request stand, and what it does with each, as Redis's ACL sees it.

        Requires: its arity is right.
        """
        if self.key_uses is not None:
            return self.key_uses(request)
        found = keyspecs.find_uses(self.key_specs, request)
        if found is None:
            return keyspecs.find_loosely_numbered(self.key_specs, request)
        if self.key_flags_finder is not None:
            flags = self.key_flags_finder(request).split()
            return [(at, flags) for at, _ in found]
        return found

    def claim(self, request: Sequence[bytes]) -> Claim:
        """What a request touches; one that reads or writes keys and names none, everything."""
        keys = self.find_keys(request)
        if keys:
            return claim(keys)
        return EVERYTHING if self._touches_unnamed else NOTHING


TABLE: Final[dict[bytes, Command]] = {}
"""Top-level commands by lower-case name: what rights and statistics speak of."""
CALLED: Final[dict[bytes, Command]] = {}
"""The same by the names that clients call them by: others if `rename-command` says so."""


class CommandGroup:
    """One of Redis's groups of commands, by the name that COMMAND DOCS and the docs page show.

    A module makes its group and names its `command` (and `container`) for the lines of its table.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def command(self, syntax: str, flags: str = "", **facts: Any) -> Callable[[H], H]:
        """Put a handler into the table. The facts are those of `Command`; each is named only where
        it does not follow:

        `keys` (first, last, step), `arity` from the syntax, `key_finder` from `numkeys key` in it;
        `categories` (ACL) from the flags, which add theirs to the named ones, and the group;
        `key_flags` from `write` ("RW access update") or its absence ("RO access"), for all keys,
        or with a comma for the first and for the others;
        `tenants` for commands on the connection or the server, unless they are `admin`: whether
        users who are bound to a namespace may have them (see `_decide_on_tenants`);
        `key_specs` from the positions and `key_flags`; `key_uses` where those cannot tell, and
        then the `key_finder` follows from it.
        """

        def register(handler: H) -> H:
            _add(Command(syntax, flags, handler, group=self.name, **facts))
            return handler

        return register

    def container(self, name: str, flags: str = "", *, since: str = "1.0.0") -> None:
        """Declare a command that only has subcommands, such as CLIENT."""
        entry = Command(
            f"{name} subcommand [argument ...]",
            flags,
            _container_handler,
            group=self.name,
            keys=(0, 0, 0),
            since=since,
            categories="",
            container=True,
        )
        entry.arity = -2
        entry.min_args = 2
        _add(entry)


def _container_handler(session: Any, *args: bytes) -> None:
    """A container."""


def _add(entry: Command) -> None:
    words = [word.encode() for word in entry.words]
    if len(words) == 1:
        assert words[0] not in TABLE, entry.name
        TABLE[words[0]] = CALLED[words[0]] = entry
    else:
        parent = TABLE[words[0]]
        assert words[1] not in parent.subcommands, entry.name
        parent.subcommands[words[1]] = entry


def rename(name: bytes, new: bytes) -> None:
    """Let a command be called otherwise, or by nobody; raises KeyError or ValueError as names go.

    Requires: nobody has asked for commands yet.
    """
    entry = CALLED.pop(name.lower())
    if new.lower() in CALLED:
        raise ValueError(new)
    if new:
        CALLED[new.lower()] = entry


def find_called(request: Sequence[bytes]) -> Command | None:
    """The command that a request names, subcommands included."""
    entry = CALLED.get(request[0]) or CALLED.get(request[0].lower())
    if entry is None or not entry.subcommands or len(request) < 2:
        return entry
    return entry.subcommands.get(request[1].lower())


def find_entry(name: bytes, table: Mapping[bytes, Command] = TABLE) -> Command | None:
    """A command by `get`, or a subcommand by `config|get`."""
    first, bar, second = name.lower().partition(b"|")
    entry = table.get(first)
    return entry if entry is None or not bar else entry.subcommands.get(second)


def every_entry(table: Mapping[bytes, Command] = TABLE) -> Iterator[Command]:
    """Commands and containers, each with its subcommands right behind it."""
    for entry in table.values():
        yield entry
        yield from entry.subcommands.values()


def every_command() -> Iterator[Command]:
    """All commands that can be called, subcommands included."""
    for entry in TABLE.values():
        if not entry.container:
            yield entry
        yield from entry.subcommands.values()


def _names_subcommand(words: list[str]) -> bool:
    """CLIENT LIST does, since CLIENT is in the table; XREADGROUP GROUP is a fixed word."""
    if len(words) < 2 or words[0].lower().encode() not in TABLE:
        return False
    return re.fullmatch(r"[A-Z-]+", words[1]) is not None


def _first_parameter(handler: Handler) -> str:
    """The name of a handler's first parameter; compiled ones have no code object to ask."""
    code = getattr(handler, "__code__", None)
    if code is not None:
        return str(code.co_varnames[0]) if code.co_varnames else ""
    return next(iter(inspect.signature(handler).parameters), "")


def _arity(syntax: str, depth: int) -> int:
    """Redis's arity: the exact number of words, or minus the smallest number."""
    required, exact, nesting = depth, True, 0
    tokens = _TOKEN.findall(syntax)
    alternatives = 0
    in_choice = False
    for token in tokens:
        if token == "[":
            nesting += 1
            exact = False
        elif token == "]":
            nesting -= 1
        elif token == "...":
            exact = False
        elif token == "<":
            in_choice, alternatives = True, 0
        elif token == ">":
            in_choice = False
            required += 1 if nesting == 0 else 0
        elif token == "|":
            alternatives += 1
        elif nesting == 0 and not in_choice:
            required += 1
    return required if exact else -required


def _numkeys_position(words: list[str]) -> int:
    """Where the number stands that says how many keys follow at once; 0 if there is none."""
    if "numkeys" not in words:
        return 0
    at = words.index("numkeys")
    return at if words[at + 1 : at + 2] == ["key"] else 0


def numbered_keys(at: int, request: Sequence[bytes]) -> list[bytes]:
    """The keys of a request whose argument `at` says how many follow; none if it is wrong."""
    count = parse_int(request[at])
    if count is None or not 0 < count < len(request) - at:
        return []
    return list(request[at + 1 : at + 1 + count])


def _used_keys(find: KeyUsesFinder, request: Sequence[bytes]) -> list[bytes]:
    return [request[at] for at, _ in find(request)]


def _key_positions(words: list[str], depth: int) -> tuple[int, int, int]:
    """(first, last, step) from where the word `key` stands in the syntax."""
    positions = [at for at, word in enumerate(words) if word.strip("[]") in _KEY_WORDS]
    if not positions:
        return (0, 0, 0)
    first = positions[0] + depth
    required = [at for at in positions if not words[at].startswith("[")]
    optional = [at for at in positions if words[at].startswith("[")]
    if optional:
        tail = words[optional[0] :]
        step = len([word for word in tail if word != "...]" and word != "..."])
        ends_open = any("..." in word for word in tail)
        if ends_open:
            return (first, -1, step)
    return (first, required[-1] + depth, 1)
