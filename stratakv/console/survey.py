"""What takes room, by key and by prefix: a walk over all keys of a database, at an easy pace.

No collection is read: MEMORY USAGE judges by a few rows and the count. The walk works a third of
the time, so that it takes no more of the server than a slow client does.
"""

import asyncio
import heapq
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from stratakv.console.client import Client
from stratakv.console.replies import Away, Failure, Refused
from stratakv.console.walks import SEPARATOR, SIZES

STEP: Final = 50
SAMPLES: Final = 5
REST: Final = 2.0
"""How long it rests, in times of its work."""
LARGEST: Final = 50
PREFIXES: Final = 5000
DEPTH: Final = 3
OTHERS: Final = b"\xff"
"""Stands for prefixes beyond those that are counted one by one."""


@dataclass(slots=True)
class Survey:
    """One walk, under way or done."""

    db: int
    client: Client
    total: int = 0
    seen: int = 0
    size: int = 0
    began: float = field(default_factory=time.time)
    ended: float = 0.0
    problem: str = ""
    sizes: Counter[bytes] = field(default_factory=Counter)
    """Bytes by prefix, of each depth."""
    counts: Counter[bytes] = field(default_factory=Counter)
    by_bytes: list[tuple[int, bytes, str]] = field(default_factory=list)
    by_elements: list[tuple[int, bytes, str]] = field(default_factory=list)
    task: "asyncio.Task[None] | None" = None

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return not self.ended

    @property
    def share(self) -> float:
        """How much of the keys was seen, up to 1."""
        return 1.0 if not self.total else min(1.0, self.seen / self.total)

    def start(self) -> None:
        """Begin to walk."""
        self.task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Walk no further; what was found stays."""
        if self.task is not None:
            self.task.cancel()
        self.client.close()
        self.ended = self.ended or time.time()

    async def _run(self) -> None:
        try:
            self.total = await self.client.call("DBSIZE", db=self.db)
            await self._walk()
        except (Away, Refused) as problem:
            self.problem = str(problem)
        finally:
            self.ended = self.ended or time.time()
            self.client.close()

    async def _walk(self) -> None:
        cursor = b"0"
        while True:
            began = time.monotonic()
            cursor, keys = await self.client.call("SCAN", cursor, "COUNT", STEP, db=self.db)
            await self._weigh(keys)
            if cursor == b"0":
                return
            await asyncio.sleep(REST * (time.monotonic() - began))

    async def _weigh(self, keys: list[bytes]) -> None:
        if not keys:
            return
        asked = [
            words
            for key in keys
            for words in (("TYPE", key), ("MEMORY", "USAGE", key, "SAMPLES", SAMPLES))
        ]
        replies = await self.client.pipeline(asked, db=self.db)
        if failures := [reply for reply in replies if isinstance(reply, Failure)]:
            raise Refused(str(failures[0]))
        kinds = replies[::2]
        large = [n for n, kind in enumerate(kinds) if kind != b"string" and kind in SIZES]
        lengths = await self.client.pipeline(
            [(SIZES[kinds[n]], keys[n]) for n in large], db=self.db
        )
        for number, length in zip(large, lengths, strict=True):
            if not isinstance(length, Failure):
                _keep(self.by_elements, (length, keys[number], kinds[number].decode()))
        for key, kind, size in zip(keys, kinds, replies[1::2], strict=True):
            if size is not None:
                self._count(key, kind.decode("ascii", "replace"), size)
        self.seen += len(keys)

    def _count(self, key: bytes, kind: str, size: int) -> None:
        self.size += size
        _keep(self.by_bytes, (size, key, kind))
        for prefix in prefixes_of(key):
            # Deeper ones leave room for those that are seen first.
            room = PREFIXES if _depth(prefix) <= 1 else PREFIXES // 2
            if prefix not in self.sizes and len(self.sizes) >= room:
                prefix = OTHERS
            self.sizes[prefix] += size
            self.counts[prefix] += 1

    def below(self, prefix: bytes) -> list[bytes]:
        """The prefixes that are one deeper, the largest first."""
        depth = prefix.count(SEPARATOR) + 1
        found = [
            one
            for one in self.sizes
            if one.startswith(prefix) and one != prefix and _depth(one) == depth
        ]
        return sorted(found, key=lambda one: -self.sizes[one])


def prefixes_of(key: bytes) -> list[bytes]:
    """What a key is counted under: each of its first prefixes, or itself without one."""
    parts = key.split(SEPARATOR)
    depth = min(len(parts) - 1, DEPTH)
    found = [SEPARATOR.join(parts[: n + 1]) + SEPARATOR for n in range(depth)]
    # What stands in a prefix without one of its own is shown as that.
    return found or [b""]


def _depth(prefix: bytes) -> int:
    return prefix.count(SEPARATOR)


def _keep(heap: list[tuple[int, bytes, str]], one: tuple[int, bytes, str]) -> None:
    if len(heap) < LARGEST:
        heapq.heappush(heap, one)
    elif one > heap[0]:
        heapq.heapreplace(heap, one)
