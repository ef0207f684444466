"""What data takes on the disk and in memory: the figures of docs/sizing.md.

    python -m benchmarks.sizing [entries ...]

Each shape is written into a fresh server with the caches of a small machine, then compacted, so
that what is counted is what stays. Values are random letters, which snappy makes little of.
"""

import random
import string
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg
from tests.proxy.test_metrics import samples

CACHES = ("--meta-cache-bytes", "64mb", "--row-cache-bytes", "16mb", "--block-cache-bytes", "32mb")
PIPELINE = 500
Call = tuple[Arg, ...]
Shape = Callable[[int], Iterator[Call]]
"""The commands that write so many entries."""

_letters = random.Random(7)


def _text(size: int) -> str:
    return "".join(_letters.choices(string.ascii_letters, k=size))


def strings(size: int) -> Shape:
    """Keys of 16 bytes with a value of that size each."""
    return lambda count: (("SET", f"key:{n:012}", _text(size)) for n in range(count))


def expiring(count: int) -> Iterator[Call]:
    """The same with 100 bytes and an expire-time."""
    return (("SET", f"key:{n:012}", _text(100), "EX", 100_000) for n in range(count))


def small_hashes(count: int) -> Iterator[Call]:
    """Hashes of ten fields of 10 bytes with values of 20."""
    for n in range(count // 10):
        words = [word for at in range(10) for word in (f"field:{at:04}", _text(20))]
        yield ("HSET", f"hash:{n:011}", *words)


def large_hash(count: int) -> Iterator[Call]:
    """One hash of such fields."""
    return (("HSET", "hash", f"field:{n:010}", _text(20)) for n in range(count))


def large_set(count: int) -> Iterator[Call]:
    """One set with members of 20 bytes."""
    return (("SADD", "set", f"member:{n:013}") for n in range(count))


def large_zset(count: int) -> Iterator[Call]:
    """One sorted set with members of 20 bytes."""
    return (("ZADD", "zset", n, f"member:{n:013}") for n in range(count))


def large_list(count: int) -> Iterator[Call]:
    """One list with elements of 100 bytes."""
    return (("RPUSH", "list", _text(100)) for _ in range(count))


def large_stream(count: int) -> Iterator[Call]:
    """One stream, each entry with a field of 5 bytes and 95 bytes."""
    return (("XADD", "stream", "*", "field", _text(95)) for _ in range(count))


SHAPES: dict[str, Shape] = {
    "strings of 10 bytes": strings(10),
    "strings of 100 bytes": strings(100),
    "strings of 1000 bytes": strings(1000),
    "strings of 100 bytes that expire": expiring,
    "fields of small hashes, 30 bytes": small_hashes,
    "fields of one hash, 36 bytes": large_hash,
    "members of one set, 20 bytes": large_set,
    "members of one sorted set, 20 bytes": large_zset,
    "elements of one list, 100 bytes": large_list,
    "entries of one stream, 100 bytes": large_stream,
}


def measure(shape: Shape, count: int) -> tuple[float, int, float]:
    """(bytes on the disk for an entry, tables, memory of the process's own in MB)."""
    with tempfile.TemporaryDirectory() as place:
        server = StrataServer(Path(place) / "data", flags=CACHES).start()
        with server.client() as client:
            for calls in batched(shape(count)):
                client.pipeline(calls)
            own = samples(server)["stratakv_memory_own_bytes", ()] / 2**20
            client.send("STRATA", "COMPACT")
            running = b"store_compaction_in_progress:1"
            wait_until(lambda: running not in client.send("INFO", "store").raw)
        server.stop()
        tables = list(server.dir.glob("*.ldb"))
        return sum(file.stat().st_size for file in tables) / count, len(tables), own


def batched(calls: Iterator[Call]) -> Iterator[list[Call]]:
    """As many at once as a pipeline has."""
    while batch := list(islice(calls, PIPELINE)):
        yield batch


def main() -> None:
    """Print a table for each number of entries."""
    for count in [int(word) for word in sys.argv[1:]] or [20_000, 100_000]:
        print(f"{count} entries | bytes each | tables | memory, MB")
        for name, shape in SHAPES.items():
            each, tables, own = measure(shape, count)
            print(f"{name} | {each:.0f} | {tables} | {own:.0f}", flush=True)


if __name__ == "__main__":
    main()
