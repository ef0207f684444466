"""Keys of every type and encoding, as commands for any server, and what a server says of them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.harness.wire import Arg, WireClient

Command = tuple[Arg, ...]

LIBRARY = (
    b"#!lua name=mylib\nredis.register_function('answer', function(keys, args) return 42 end)\n"
)
LATER_MS = 4_102_444_800_000
"""In the year 2100."""


def commands(seed: int, large: int) -> Iterator[Command]:
    """Commands that make keys; `large` is the number of elements of a large collection."""
    rng = random.Random(seed)
    yield ("FUNCTION", "LOAD", "REPLACE", LIBRARY)
    for database in (0, 3):
        yield ("SELECT", database)
        yield from _strings(rng)
        for name, count in (("small", 5), ("large", large)):
            yield from _collections(rng, name, count)
        yield from _streams(rng, large)
        for key in ("text", "list:small", "set:large", "zset:small", "hash:large", "stream:large"):
            yield ("PEXPIREAT", key, LATER_MS + rng.randrange(1000))
    yield ("SELECT", 0)


def _strings(rng: random.Random) -> Iterator[Command]:
    for number in (0, -1, 127, -128, 128, 32768, -2147483648, 2147483648, 9223372036854775807):
        yield ("SET", f"int:{number}", number)
    yield ("SET", "text", "hello")
    yield ("SET", "empty", "")
    yield ("SET", "\r\n\0binary\xff", b"\0\1\2\xff" * 10)
    yield ("SET", "compressible", b"abcdefgh" * 5000)
    yield ("SET", "random", rng.randbytes(300_000))
    yield ("SETBIT", "bitmap", 2_000_000, 1)
    yield ("PFADD", "hll", *range(500))


def _collections(rng: random.Random, name: str, count: int) -> Iterator[Command]:
    words = [rng.choice((b"%d" % rng.randrange(-70000, 1 << 40), rng.randbytes(rng.randrange(80))))
             for _ in range(count)]  # fmt: skip
    for at in range(0, count, 500):
        some = words[at : at + 500]
        yield ("RPUSH", f"list:{name}", *some)
        yield ("SADD", f"set:{name}", *some)
        yield ("SADD", f"intset:{name}", *(rng.randrange(-5000, 5000) for _ in some))
        yield ("SADD", f"intset64:{name}", *(rng.randrange(-(1 << 62), 1 << 62) for _ in some))
        yield ("HSET", f"hash:{name}", *(half for word in some for half in (word, word[::-1])))
        scores = [rng.choice((rng.randrange(100), rng.random(), 1e300, "-inf", "inf"))
                  for _ in some]  # fmt: skip
        pairs = zip(scores, some, strict=True)
        yield ("ZADD", f"zset:{name}", *(half for pair in pairs for half in pair))
    yield ("RPUSH", f"list:{name}", rng.randbytes(20_000), b"x" * 20_000)
    yield ("GEOADD", f"geo:{name}", 13.36, 38.11, "Palermo", 15.08, 37.5, "Catania")


def _streams(rng: random.Random, count: int) -> Iterator[Command]:
    for number in range(1, count + 1):
        fields: list[Arg] = ["f", number] if number % 3 else ["g", rng.randbytes(9), "h", "x" * 30]
        yield ("XADD", "stream:large", f"{number // 7 + 1}-{number}", *fields)
    yield ("XDEL", "stream:large", f"{5 // 7 + 1}-5")
    yield ("XGROUP", "CREATE", "stream:large", "group", "0")
    yield ("XGROUP", "CREATE", "stream:large", "idle group", "$")
    yield ("XGROUP", "CREATECONSUMER", "stream:large", "group", "nobody")
    for consumer in ("alice", "bob"):
        yield ("XREADGROUP", "GROUP", "group", consumer, "COUNT", "7", "STREAMS", "stream:large",
               ">")  # fmt: skip
    yield ("XACK", "stream:large", "group", "1-1", "1-2")
    yield ("XADD", "stream:empty", "5-5", "f", "v")
    yield ("XTRIM", "stream:empty", "MAXLEN", "0")


def fill(client: WireClient, seed: int = 1, large: int = 3000) -> None:
    """Make the keys; every command has to succeed."""
    wanted = list(commands(seed, large))
    for at in range(0, len(wanted), 100):
        some = wanted[at : at + 100]
        for command, reply in zip(some, client.pipeline(some), strict=True):
            assert not reply.frame.is_error, f"{command!r:.200}: {reply}"


def digest(client: WireClient) -> bytes:
    """What Redis makes of all its keys in all databases."""
    return client.send("DEBUG", "DIGEST").raw


def times(client: WireClient) -> dict[tuple[int, bytes], int | None]:
    """The expire-time of every key."""
    found: dict[tuple[int, bytes], int | None] = {}
    for database in range(16):
        client.send("SELECT", database)
        keys = client.send("KEYS", "*").frame.blobs()
        replies = client.pipeline([("PEXPIRETIME", key) for key in keys])
        found |= {
            (database, key): reply.frame.number for key, reply in zip(keys, replies, strict=True)
        }
    client.send("SELECT", 0)
    return found
