"""Runs one list of commands against both servers and says where they part.

A command list that fails is printed so that it can be fed to redis-cli as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tests.differential.alphabets import ALPHABETS
from tests.differential.compare import Exchange, agree, close_millis, order_of_ties_is_open
from tests.differential.templates import Args
from tests.harness.hbase import IS_CLUSTER
from tests.harness.wire import WireClient, encode, quoted

DATABASES = (0, 1, 2)
OTHERWISE = (b"SAVE", b"BGSAVE", b"CLUSTER")
"""What a node over several groups of slots refuses by design."""
_SHOWN = 600
READS: dict[bytes, Args] = {
    b"string": (b"GET",),
    b"hash": (b"HGETALL",),
    b"set": (b"SMEMBERS",),
    b"zset": (b"ZRANGE", b"0", b"-1", b"WITHSCORES"),
    b"list": (b"SORT", b"BY", b"nosort"),
    b"stream": (b"XRANGE", b"-", b"+"),
}
# What an example may change beyond keys and its own connection is put back before the next one.
CLEAN: list[Args] = [
    (b"FLUSHALL",),
    (b"FUNCTION", b"FLUSH"),
    (b"CONFIG", b"SET", b"timeout", b"0"),
    (b"CONFIG", b"SET", b"maxmemory", b"0"),
    (b"CONFIG", b"SET", b"slowlog-max-len", b"128"),
    (b"CONFIG", b"SET", b"slowlog-log-slower-than", b"10000"),
    (b"CONFIG", b"SET", b"latency-monitor-threshold", b"0"),
]


class Mismatch(AssertionError):
    """The servers differ at the last command of `commands`, or in the state they left."""

    def __init__(
        self, protocol: int, commands: Sequence[Args], exchange: Exchange, state: bool
    ) -> None:
        self.exchange = exchange
        how = "redis-cli -3" if protocol == 3 else "redis-cli"
        listing = "\n".join(f"  {show(args)}" for args in commands)
        where = "state after them, by" if state else "reply to"
        super().__init__(
            f"\ncommands (replay with {how}):\n{listing}\n{where}: {show(exchange.args)}\n"
            f"  redis:    {str(exchange.redis)[:_SHOWN]}\n"
            f"  stratakv: {str(exchange.strata)[:_SHOWN]}\n"
            f"  redis bytes:    {exchange.redis.raw[:_SHOWN]!r}\n"
            f"  stratakv bytes: {exchange.strata.raw[:_SHOWN]!r}"
        )


def show(args: Iterable[bytes]) -> str:
    return " ".join(map(quoted, args))


class Broken(AssertionError):
    """A server closed the connection, stayed silent, or sent what is not RESP."""

    def __init__(self, commands: Sequence[Args], why: Exception) -> None:
        listing = "\n".join(f"  {show(args)}" for args in commands)
        super().__init__(f"\n{why!r} at the last of these commands:\n{listing}")


@dataclass(slots=True)
class Pair:
    """Both servers, in the same protocol. `watch` sees every exchange before it is judged."""

    connect_redis: Callable[[int], WireClient]
    connect_strata: Callable[[int], WireClient]
    protocol: int
    watch: Callable[[Exchange], None] | None = None
    sent: list[Args] = field(init=False, default_factory=list)
    redis: WireClient = field(init=False)
    strata: WireClient = field(init=False)

    def run(self, commands: Iterable[Args]) -> None:
        """Send the commands to both servers, on new connections and an empty keyspace. On clusters
        the keys are of one slot.

        Raises Mismatch at the first difference.
        """
        if IS_CLUSTER:
            commands = [tagged(args) for args in commands if args[0].upper() not in OTHERWISE]
        self.sent = []
        with (
            self.connect_redis(self.protocol) as redis,
            self.connect_strata(self.protocol) as strata,
        ):
            self.redis, self.strata = redis, strata
            try:
                self._run(commands)
            except (OSError, ValueError) as why:
                raise Broken(self.sent, why) from why

    def clean(self) -> None:
        """Empty both servers and put back what commands may have configured."""
        for connect in (self.connect_redis, self.connect_strata):
            with connect(self.protocol) as client:
                _clean(client)

    def _run(self, commands: Iterable[Args]) -> None:
        for client in (self.redis, self.strata):
            _clean(client)
        for args in commands:
            self._step(args)
        self._exchange((b"DISCARD",))
        self._compare_state()

    def _step(self, args: Args) -> None:
        self.sent.append(args)
        exchange = self._exchange(args)
        if self.watch is not None:
            self.watch(exchange)
        if not agree(exchange):
            raise Mismatch(self.protocol, self.sent, exchange, state=False)
        for repair in self._repairs(exchange):
            self.sent.append(repair)
            self._exchange(repair)

    def _repairs(self, exchange: Exchange) -> list[Args]:
        """Commands that make both states equal again after a reply that Redis leaves open."""
        name = exchange.word(0)
        if name == b"SPOP" and not exchange.redis.frame.is_error:
            return [(b"DEL", exchange.args[1])]
        words = exchange.words()
        if name == b"SORT" and b"STORE" in words and order_of_ties_is_open(words):
            return [(b"DEL", exchange.args[-1])]
        return []

    def _exchange(self, args: Args) -> Exchange:
        request = encode(*args)
        self.redis.write(request)
        self.strata.write(request)
        return Exchange(args, self.redis.read(), self.strata.read(), self.redis, self.strata)

    def _compare_state(self) -> None:
        """Every key of every database: type, time to live, content; and the number of keys."""
        for db in DATABASES:
            self._same((b"SELECT", b"%d" % db))
            self._same((b"DBSIZE",))
            keys = self._same((b"KEYS", b"*"))
            for key in sorted(keys.redis.frame.blobs()):
                self._compare_key(key)

    def _compare_key(self, key: bytes) -> None:
        kind = self._same((b"TYPE", key)).redis.frame.data or b""
        ttl = self._exchange((b"PTTL", key))
        if not close_millis(ttl):
            raise Mismatch(self.protocol, self.sent, ttl, state=True)
        read = READS[kind]
        self._same((read[0], key, *read[1:]))

    def _same(self, args: Args) -> Exchange:
        exchange = self._exchange(args)
        if not agree(exchange):
            raise Mismatch(self.protocol, self.sent, exchange, state=True)
        return exchange


def tagged(args: Args) -> Args:
    """With the same hash tag in each key of the alphabet."""
    keys = ALPHABETS["key"].usual
    return tuple(word + b"{t}" if word in keys else word for word in args)


def _clean(client: WireClient) -> None:
    """Leftovers of one example would show as differences of the next, so FLUSHALL must succeed."""
    flushed, *_ = client.pipeline(CLEAN)
    assert not flushed.frame.is_error, f"FLUSHALL: {flushed}"
