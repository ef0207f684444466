"""A writer that knows what it was promised: the acknowledged state, and what was under way.

The model is a dict from keys to Python values: bytes for a string, dict for a hash, set for a set,
`Scores` for a sorted set. A step is one command, or a MULTI that counts as one.
"""

from __future__ import annotations

import copy
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.harness.wire import Arg, Reply, WireClient, encode

BIG = 1500
"""Members of the large sets: more than a command may touch in one turn of the server's loop."""
BURST = 8

Command = tuple[Arg, ...]


class Scores(dict[bytes, float]):
    """A sorted set."""


Value = bytes | dict[bytes, bytes] | set[bytes] | Scores
Model = dict[bytes, Value]
Change = Callable[[Model], object]


@dataclass(slots=True)
class Step:
    """Commands that are sent together, and what they do to the model once all are answered."""

    commands: list[Command]
    changes: list[Change]

    def apply(self, model: Model) -> None:
        for change in self.changes:
            change(model)


@dataclass(slots=True)
class Ledger:
    """One writer in one database."""

    seed: int
    database: int
    with_flush: bool
    model: Model = field(default_factory=dict)
    under_way: deque[Step] = field(default_factory=deque)
    acknowledged: int = 0
    refused: list[str] = field(default_factory=list)
    _dice: random.Random = field(init=False)
    _fleeting: int = 0

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    # writing

    def write_until_cut(self, port: int, stop: threading.Event) -> None:
        """Send bursts and note every reply, until the server is gone or the test has enough."""
        try:
            with WireClient(port) as client:
                client.send("SELECT", self.database)
                while not stop.is_set():
                    self._burst(client)
        except OSError:
            return  # the server is gone; `under_way` holds what it did not answer

    def _burst(self, client: WireClient) -> None:
        steps = [self._next_step() for _ in range(self._dice.randint(1, BURST))]
        self.under_way.extend(steps)
        commands = [command for step in steps for command in step.commands]
        client.write(b"".join(encode(*command) for command in commands))
        for step in steps:
            replies = [client.read() for _ in step.commands]
            self.refused += [str(reply) for reply in replies if reply.frame.is_error]
            self.under_way.popleft()
            if not _is_refused(replies[-1]):
                step.apply(self.model)
                self.acknowledged += 1

    # what the store may hold

    def possible_states(self) -> Iterator[Model]:
        """The acknowledged state, and those after each of the steps that were under way."""
        state = copy.deepcopy(self.model)
        yield state
        for step in self.under_way:
            state = copy.deepcopy(state)
            step.apply(state)
            yield state

    def settle(self, found: Model) -> bool:
        """Whether the store holds a possible state; if so, the ledger goes on from it."""
        if not any(found == state for state in self.possible_states()):
            return False
        self.model = found
        self.under_way.clear()
        return True

    # making steps

    def _next_step(self) -> Step:
        dice = self._dice
        if dice.random() < 0.05:
            return self._transaction()
        makers = [self._string, self._hash, self._set, self._zset, self._key]
        if dice.random() < 0.1:
            makers = [self._long]
        command, change = dice.choice(makers)()
        return Step([command], [change])

    def _transaction(self) -> Step:
        made = [self._dice.choice([self._string, self._hash, self._set])() for _ in range(3)]
        commands = [("MULTI",), *(command for command, _ in made), ("EXEC",)]
        return Step(commands, [change for _, change in made])

    def _name(self, kind: str) -> bytes:
        return f"{kind}{self._dice.randrange(6)}".encode()

    def _word(self) -> bytes:
        return b"%x" % self._dice.getrandbits(self._dice.choice([8, 16, 400]))

    def _string(self) -> tuple[Command, Change]:
        key, value = self._name("string"), self._word()
        match self._dice.randrange(3):
            case 0:
                return ("SET", key, value), lambda model: model.update({key: value})
            case 1:
                return ("APPEND", key, value), lambda model: _append(model, key, value)
            case _:
                self._fleeting += 1
                return ("SET", b"fleeting%d" % self._fleeting, value, "PX", 20), lambda model: None

    def _hash(self) -> tuple[Command, Change]:
        key, name, value = self._name("hash"), self._word()[:1], self._word()
        if self._dice.random() < 0.6:
            return ("HSET", key, name, value), lambda model: _dict(model, key).update({name: value})
        return ("HDEL", key, name), lambda model: _remove(model, key, [name])

    def _set(self) -> tuple[Command, Change]:
        key, members = self._name("set"), [self._word() for _ in range(4)]
        match self._dice.randrange(3):
            case 0:
                return ("SADD", key, *members), lambda model: _set(model, key).update(members)
            case 1:
                known = [b"%x" % number for number in range(0, 256, 3)]
                return ("SREM", key, *known), lambda model: _remove(model, key, known)
            case _:
                return ("SPOP", key, 0), lambda model: None

    def _zset(self) -> tuple[Command, Change]:
        key, member = self._name("zset"), self._word()[:2]
        score = float(self._dice.randint(-5, 5))
        match self._dice.randrange(4):
            case 0:
                return ("ZREM", key, member), lambda model: _remove(model, key, [member])
            case 1:
                return ("ZPOPMIN", key), lambda model: _pop_lowest(model, key)
            case _:
                pair = {member: score}
                return ("ZADD", key, score, member), lambda model: _scores(model, key).update(pair)

    def _key(self) -> tuple[Command, Change]:
        kind = self._dice.choice(["string", "hash", "set", "zset", "big"])
        key, other = self._name(kind), self._name(kind)
        match self._dice.randrange(5):
            case 0:
                return ("DEL", key), lambda model: model.pop(key, None)
            case 1:
                return ("EXPIRE", key, 10_000), lambda model: None
            case 2:
                return ("PEXPIREAT", key, 1), lambda model: model.pop(key, None)
            case 3:
                return ("COPY", key, other, "REPLACE"), lambda model: _copy(model, key, other)
            case _:
                return ("RENAMENX", key, other), lambda model: _rename(model, key, other)

    def _long(self) -> tuple[Command, Change]:
        key, one, other = self._name("big"), self._name("big"), self._name("set")
        roll = self._dice.random()
        if roll < 0.05 and self.with_flush:
            return ("FLUSHDB",), lambda model: model.clear()
        if roll < 0.4:
            start = self._dice.randrange(BIG)
            members = [b"%d" % number for number in range(start, start + BIG)]
            return ("SADD", key, *members), lambda model: _set(model, key).update(members)
        if roll < 0.8:
            change: Change = lambda model: _union(model, key, one, other)  # noqa: E731
            return ("SUNIONSTORE", key, one, other), change
        return (
            ("ZUNIONSTORE", b"z" + key, 1, one),
            lambda model: _store(
                model, b"z" + key, Scores((member, 1.0) for member in _members(model, one))
            ),
        )


def _is_refused(reply: Reply) -> bool:
    """Whether the store could not be asked or written: then nothing was done."""
    return reply.frame.is_error and reply.raw.startswith((b"-MISCONF", b"-EXECABORT"))


def _append(model: Model, key: bytes, tail: bytes) -> None:
    old = model.get(key, b"")
    assert isinstance(old, bytes)
    model[key] = old + tail


def _dict(model: Model, key: bytes) -> dict[bytes, bytes]:
    return model.setdefault(key, {})  # type: ignore[return-value]


def _set(model: Model, key: bytes) -> set[bytes]:
    return model.setdefault(key, set())  # type: ignore[return-value]


def _members(model: Model, key: bytes) -> set[bytes]:
    """Those of a set that may be absent."""
    return model.get(key, set())  # type: ignore[return-value]


def _scores(model: Model, key: bytes) -> Scores:
    return model.setdefault(key, Scores())  # type: ignore[return-value]


def _remove(model: Model, key: bytes, names: list[bytes]) -> None:
    value = model.get(key)
    for name in names:
        if isinstance(value, set):
            value.discard(name)
        elif isinstance(value, dict):
            value.pop(name, None)
    if not value:
        model.pop(key, None)


def _pop_lowest(model: Model, key: bytes) -> None:
    if key in model:
        scores = _scores(model, key)
        _remove(model, key, [min(scores, key=lambda member: (scores[member], member))])


def _store(model: Model, key: bytes, value: Value) -> None:
    model.pop(key, None)
    if value:
        model[key] = value


def _union(model: Model, key: bytes, *sources: bytes) -> None:
    members: set[bytes] = set()
    for source in sources:
        members |= _members(model, source)
    _store(model, key, members)


def _copy(model: Model, key: bytes, other: bytes) -> None:
    if key in model and key != other:
        model[other] = copy.deepcopy(model[key])


def _rename(model: Model, key: bytes, other: bytes) -> None:
    if key in model and other not in model:
        model[other] = model.pop(key)


# reading a store back


def read_back(client: WireClient, database: int) -> Model:
    """Everything in a database, through the commands."""
    client.send("SELECT", database)
    keys = client.send("KEYS", "*").frame.blobs()
    assert client.send("DBSIZE").frame.number == len(keys)
    types = client.pipeline([("TYPE", key) for key in keys])
    return {
        key: _read(client, key, reply.frame.data or b"")
        for key, reply in zip(keys, types, strict=True)
    }


def _read(client: WireClient, key: bytes, kind: bytes) -> Value:
    match kind:
        case b"string":
            return client.send("GET", key).frame.data or b""
        case b"hash":
            flat = client.send("HGETALL", key).frame.blobs()
            return dict(zip(flat[::2], flat[1::2], strict=True))
        case b"set":
            return set(client.send("SMEMBERS", key).frame.blobs())
        case b"zset":
            flat = client.send("ZRANGE", key, 0, -1, "WITHSCORES").frame.blobs()
            return Scores(zip(flat[::2], map(float, flat[1::2]), strict=True))
    raise AssertionError(f"{key!r} is a {kind!r}")
