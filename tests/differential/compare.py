"""How two replies to the same command are held against each other.

The rule is: byte for byte. RULES names the commands whose reply Redis itself leaves open (order,
random choice, clock, memory) and what is compared instead. Errors are always compared byte for
byte, whatever the command.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.differential.inventory import LATER
from tests.differential.templates import Args
from tests.harness.wire import Frame, Reply, WireClient

TTL_SLACK_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Exchange:
    """One command and what both servers said; the clients are there for follow-up questions."""

    args: Args
    redis: Reply
    strata: Reply
    redis_client: WireClient
    strata_client: WireClient

    @property
    def frames(self) -> tuple[Frame, Frame]:
        return self.redis.frame, self.strata.frame

    def word(self, index: int) -> bytes:
        """The argument in upper case, empty when there are fewer."""
        return self.args[index].upper() if index < len(self.args) else b""

    def words(self) -> list[bytes]:
        return [arg.upper() for arg in self.args]


Rule = Callable[[Exchange], bool]


def agree(exchange: Exchange) -> bool:
    """Whether both replies are equal under the command's rule."""
    redis, strata = exchange.redis, exchange.strata
    if redis.raw == strata.raw and exchange.word(0) not in _JUDGED_EVEN_IF_EQUAL:
        return True
    if redis.frame.is_error or strata.frame.is_error:
        return redis.raw == strata.raw
    return rule_of(exchange.args)(exchange)


def rule_of(args: Args) -> Rule:
    """The rule of a subcommand, else of the command; a space at the end marks the bare call."""
    name = args[0].upper()
    subcommand = args[1].upper() if len(args) > 1 else b""
    return RULES.get(name + b" " + subcommand) or RULES.get(name) or exact


def exact(exchange: Exchange) -> bool:
    return exchange.redis.raw == exchange.strata.raw


def same_kind(exchange: Exchange) -> bool:
    """Only the type of the reply: texts about the server itself, and counters of its own."""
    redis, strata = exchange.frames
    return redis.kind == strata.kind and redis.is_null == strata.is_null


def same_items(exchange: Exchange) -> bool:
    """The same items in any order."""
    redis, strata = exchange.frames
    return redis.kind == strata.kind and Counter(redis.items or ()) == Counter(strata.items or ())


def same_pairs(exchange: Exchange) -> bool:
    """The same pairs in any order: a map, or a flat array of RESP2."""
    redis, strata = exchange.frames
    return redis.kind == strata.kind and Counter(redis.pairs()) == Counter(strata.pairs())


def close_seconds(exchange: Exchange) -> bool:
    return _close(exchange, TTL_SLACK_MS // 1000)


def close_millis(exchange: Exchange) -> bool:
    return _close(exchange, TTL_SLACK_MS)


def _close(exchange: Exchange, slack: int) -> bool:
    redis, strata = (frame.number for frame in exchange.frames)
    if redis is None or strata is None or min(redis, strata) < 0:
        return redis == strata is not None
    return abs(redis - strata) <= slack


def same_time_to_live(exchange: Exchange) -> bool:
    """EXPIRE with GT or LT compares with a clock: `EXPIRE k 100` twice is GT only if a millisecond
    has passed.

    So 0 and 1 may differ when the time to live that results is nevertheless the same.
    """
    key = exchange.args[1]
    ask = ("PTTL", key)
    redis, strata = exchange.redis_client, exchange.strata_client
    after = Exchange((b"PTTL", key), redis.send(*ask), strata.send(*ask), redis, strata)
    compared_with_clock = {b"GT", b"LT"} & set(exchange.words()[3:])
    numbers = {frame.number for frame in exchange.frames}
    return bool(compared_with_clock) and numbers == {0, 1} and close_millis(after)


def scan(exchange: Exchange) -> bool:
    """A whole iteration finds the same elements. Where one begins elsewhere than at 0, only the
    shape counts.
    """
    place = 1 if exchange.word(0) == b"SCAN" else 2
    if exchange.args[place] != b"0":
        return [frame.kind for frame in exchange.frames] == ["*", "*"]
    redis, strata = (
        _iterate(client, exchange.args, place, reply)
        for client, reply in (
            (exchange.redis_client, exchange.redis),
            (exchange.strata_client, exchange.strata),
        )
    )
    return redis is not None and redis == strata


def _iterate(client: WireClient, args: Args, place: int, first: Reply) -> Counter[object] | None:
    """What a full iteration returns; None when a reply is malformed or the cursor never comes back
    to 0.
    """
    pairs = args[0].upper() in (b"HSCAN", b"ZSCAN")
    found: Counter[object] = Counter()
    frame = first.frame
    for _ in range(1000):
        if frame.kind != "*" or len(frame.items or ()) != 2:
            return None
        cursor, items = frame.items or ()
        found.update(items.pairs() if pairs else items.items or ())
        if cursor.kind != "$" or cursor.data == b"0":
            return found
        frame = client.send(*args[:place], cursor.data or b"", *args[place + 1 :]).frame
    return None


def random_elements(exchange: Exchange) -> bool:
    """As many elements as Redis gives, in the same shape, all from the collection.

    They are distinct unless a negative count allows repeats.
    """
    redis, strata = exchange.frames
    if redis.is_null or strata.is_null or _shape(redis) != _shape(strata):
        return redis == strata
    paired = exchange.word(3) in (b"WITHVALUES", b"WITHSCORES")
    chosen = _elements(strata, paired)
    allowed = exchange.word(2).startswith(b"-") or len(set(chosen)) == len(chosen)
    return allowed and set(chosen) <= set(_collection(exchange, paired))


def _shape(frame: Frame) -> object:
    return frame.kind, [(item.kind, len(item.items or ())) for item in frame.items or ()]


def _elements(frame: Frame, paired: bool) -> list[tuple[Frame, ...]]:
    """The elements of a reply, with values or scores: nested as in RESP3, or flat as in RESP2."""
    if frame.items is None:
        return [(frame,)]
    if not paired:
        return [(item,) for item in frame.items]
    nested = frame.kind == "*" and any(item.items for item in frame.items)
    return [item.items or () for item in frame.items] if nested else list(frame.pairs())


def _collection(exchange: Exchange, paired: bool) -> list[tuple[Frame, ...]]:
    """All that Redis has under the key."""
    key, name = exchange.args[1], exchange.word(0)
    if name == b"ZRANDMEMBER":
        read: Args = (b"ZRANGE", key, b"0", b"-1", *[b"WITHSCORES"] * paired)
    elif name == b"HRANDFIELD":
        read = (b"HGETALL" if paired else b"HKEYS", key)
    else:
        read = (b"SMEMBERS", key)
    return _elements(exchange.redis_client.send(*read).frame, paired)


def random_key(exchange: Exchange) -> bool:
    redis, strata = exchange.frames
    existing = exchange.redis_client.send("KEYS", "*").frame.items or ()
    return redis.kind == strata.kind and (strata in existing or (redis.is_null and strata.is_null))


def popped(exchange: Exchange) -> bool:
    """SPOP: as many distinct elements as Redis pops, and they are gone.

    What is left may differ, so the runner deletes the key.
    """
    redis, strata = exchange.frames
    if _shape(redis) != _shape(strata) or redis.is_null != strata.is_null:
        return False
    gone = strata.items if strata.items is not None else (strata,)
    left = [
        c.send("SCARD", exchange.args[1]) for c in (exchange.redis_client, exchange.strata_client)
    ]
    return len(set(gone)) == len(gone) and left[0] == left[1] and not _any_left(exchange, gone)


def _any_left(exchange: Exchange, elements: tuple[Frame, ...]) -> bool:
    if not elements:
        return False
    ask = (b"SMISMEMBER", exchange.args[1], *[element.data or b"" for element in elements])
    return any(item.number for item in exchange.strata_client.send(*ask).frame.items or ())


def sorted_elements(exchange: Exchange) -> bool:
    """SORT leaves three orders open: of an unsorted set, of ALPHA ties under BY, and, where the
    reply is collated as C strings, of what follows a NUL.
    """
    redis, strata = exchange.frames
    words = exchange.words()
    if not (_is_unsorted_set(exchange) or order_of_ties_is_open(words) or _has_nul(redis, words)):
        return False
    if b"LIMIT" in words:
        return redis.kind == strata.kind and len(redis.items or ()) == len(strata.items or ())
    return same_items(exchange)


def order_of_ties_is_open(words: list[bytes]) -> bool:
    return b"ALPHA" in words and b"BY" in words


def _is_unsorted_set(exchange: Exchange) -> bool:
    pattern = dict(itertools.pairwise(exchange.words())).get(b"BY", b"*")
    kind = exchange.redis_client.send("TYPE", exchange.args[1]).raw
    return b"*" not in pattern and kind == b"+set\r\n"


def _has_nul(reply: Frame, words: list[bytes]) -> bool:
    return b"ALPHA" in words and any(b"\x00" in blob for blob in reply.blobs())


def same_encoding_family(exchange: Exchange) -> bool:
    """OBJECT ENCODING: Redis remembers how a value came about (embstr or raw, a set that once held
    a word).

    `test_object_encoding` compares the exact names on values made afresh.
    """
    families = [
        {b"embstr", b"raw", b"int"},
        {b"intset", b"hashtable"},
        {b"listpack", b"hashtable", b"skiplist"},
    ]
    redis, strata = exchange.frames
    same = any({redis.data, strata.data} <= family for family in families)
    return redis.kind == strata.kind == "$" and same


def hello(exchange: Exchange) -> bool:
    """The same names in the same order; our server, version and id are our own."""
    redis, strata = exchange.frames
    names = [[key for key, _ in frame.pairs()] for frame in (redis, strata)]
    kinds = [[value.kind for _, value in frame.pairs()] for frame in (redis, strata)]
    return redis.kind == strata.kind and names[0] == names[1] and kinds[0] == kinds[1]


def known_commands(exchange: Exchange) -> bool:
    """COMMAND LIST: nothing that Redis does not filter in, our own commands aside; Redis knows more
    commands.
    """
    redis, strata = exchange.frames
    shared = {
        name
        for name in strata.blobs()
        if name.split(b"|")[0] != b"strata" and name.upper() not in _LATER
    }
    return redis.kind == strata.kind and shared <= set(redis.blobs())


_LATER: Final = frozenset({b"CLIENT|SETINFO", *(name.encode() for name in LATER)})
_CLOCK = re.compile(rb":1[0-9]{12}\r\n")
_IDLE = re.compile(rb"(idle\r\n|\$1\r\n[abc]\r\n):[0-9]{1,5}\r\n")


def same_but_for_the_clock(exchange: Exchange) -> bool:
    """Times, and for how long something was idle, are left out."""
    redis, strata = (
        _IDLE.sub(rb"\1", _CLOCK.sub(b":time\r\n", reply.raw))
        for reply in (exchange.redis, exchange.strata)
    )
    return redis == strata


# Their replies are checked by a property that equality does not imply (or that needs a follow-up).
_JUDGED_EVEN_IF_EQUAL: Final = frozenset({b"SCAN", b"SSCAN", b"HSCAN", b"ZSCAN"})

RULES: Final[dict[bytes, Rule]] = {
    **dict.fromkeys(b"SMEMBERS SINTER SUNION SDIFF HKEYS HVALS KEYS".split(), same_items),
    b"HGETALL": same_pairs,
    b"CONFIG GET": same_pairs,
    **dict.fromkeys(b"SCAN SSCAN HSCAN ZSCAN".split(), scan),
    **dict.fromkeys(b"TTL EXPIRETIME".split(), close_seconds),
    **dict.fromkeys(b"PTTL PEXPIRETIME".split(), close_millis),
    **dict.fromkeys(b"EXPIRE PEXPIRE EXPIREAT PEXPIREAT".split(), same_time_to_live),
    **dict.fromkeys(b"SRANDMEMBER HRANDFIELD ZRANDMEMBER".split(), random_elements),
    b"RANDOMKEY": random_key,
    b"SPOP": popped,
    **dict.fromkeys(b"SORT SORT_RO".split(), sorted_elements),
    b"OBJECT ENCODING": same_encoding_family,
    b"HELLO": hello,
    **dict.fromkeys(b"XPENDING XINFO".split(), same_but_for_the_clock),
    b"COMMAND LIST": known_commands,
    **dict.fromkeys(
        [
            *[
                b"OBJECT REFCOUNT",
                b"OBJECT IDLETIME",
                b"MEMORY USAGE",
                b"COMMAND ",
                b"COMMAND COUNT",
                b"COMMAND INFO",
            ],
            *[
                b"COMMAND DOCS",
                b"CLIENT ID",
                b"CLIENT INFO",
                b"CLIENT LIST",
                b"INFO",
                b"TIME",
                b"LASTSAVE",
            ],
            *[b"LOLWUT", b"SLOWLOG LEN", b"SLOWLOG GET", b"LATENCY LATEST"],
        ],
        same_kind,
    ),
}
