"""What other clients feel, and how much memory it takes, while one client moves something large.

Long strings (a SET of 200 MB, a bitmap of 512 MB) and commands with very many arguments. Each case
says how long PINGs of another client took, and by how much the server's own (anonymous) memory rose
above what it was before, at the most.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from benchmarks import procfs
from benchmarks.pinger import Pinger
from benchmarks.resp import Command, encode
from benchmarks.sample import Sample
from benchmarks.servers import Server, settle
from benchmarks.workloads.fairness import MARK
from benchmarks.workloads.model import Case, Options, Workload

MB = 1 << 20
WATCH_S = 1.0
SAMPLE_S = 0.01
MANY = 200_000
VERY_MANY = 1_000_000
TRANSACTION = 100_000
LAST_BIT = 512 * MB * 8 - 1

Requests = Callable[[], list[Command]]


class Anonymous:
    """A context in which the server's anonymous memory is watched; `rise_mb` is its highest."""

    def __init__(self, server: Server) -> None:
        self._pid = server.pid
        self._ended = threading.Event()
        self._before = self._now()
        self._highest = self._before
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def rise_mb(self) -> float:
        """By how much the memory has risen, at the most."""
        return self._highest - self._before

    def _now(self) -> float:
        return procfs.memory_mb(self._pid).get("anon_mb", 0.0)

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            self._highest = max(self._highest, self._now())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()


def ping_during(server: Server, requests: Requests) -> Sample:
    """PING every millisecond while the requests run and for a second after them."""
    data = b"".join(encode(*request) for request in requests()) + encode("ECHO", MARK)
    settle([server], limit_s=10.0)
    with Anonymous(server) as memory, Pinger(server.host, server.port) as pinger:
        began = time.perf_counter()
        with server.client(timeout_s=600.0) as client:
            tail = client.drain(data, MARK + b"\r\n")
        elapsed_s = time.perf_counter() - began
        time.sleep(WATCH_S)
    if tail.startswith(b"-"):
        raise RuntimeError(tail.decode(errors="replace"))
    return pinger.result | {
        "requests": pinger.result["pings"],
        "command_ms": 1000 * elapsed_s,
        "rise_mb": memory.rise_mb,
    }


def _words(count: int, form: str = "member:%d") -> list[str]:
    return [form % number for number in range(count)]


def _pairs(count: int) -> list[str]:
    return [word for number in range(count) for word in (f"key:{number}", f"value:{number}")]


def _scored(count: int) -> list[str | int]:
    return [word for number in range(count) for word in (number, f"member:{number}")]


CASES: list[tuple[str, Requests]] = [
    ("idle", list),
    ("set-200m", lambda: [("SET", "long", b"x" * (200 * MB))]),
    ("get-200m", lambda: [("GET", "long")]),
    ("append-200m", lambda: [("APPEND", "long", b"y" * (56 * MB))]),
    ("exists-256m", lambda: [("EXISTS", "long"), ("STRLEN", "long"), ("EXPIRE", "long", 9999)]),
    ("append-256m", lambda: [("APPEND", "long", b"tail")]),
    ("rename-256m", lambda: [("RENAME", "long", "longer")]),
    ("del-256m", lambda: [("DEL", "longer")]),
    ("setbit-512m", lambda: [("SETBIT", "bitmap", LAST_BIT, 1)]),
    ("setrange-512m", lambda: [("SETRANGE", "bar", 501970112, "test")]),
    ("bitop-512m", lambda: [("BITOP", "NOT", "full", "bitmap")]),
    ("bitcount-512m", lambda: [("BITCOUNT", "full")]),
    ("get-512m", lambda: [("GET", "full")]),
    ("del-512m", lambda: [("DEL", "full", "bar")]),
    ("sadd-1m", lambda: [("SADD", "set", *_words(VERY_MANY))]),
    ("srem-1m", lambda: [("SREM", "set", *_words(VERY_MANY))]),
    ("hset-200k", lambda: [("HSET", "hash", *_pairs(MANY))]),
    ("hdel-200k", lambda: [("HDEL", "hash", *_words(MANY, "key:%d"))]),
    ("zadd-200k", lambda: [("ZADD", "zset", *_scored(MANY))]),
    ("zrem-200k", lambda: [("ZREM", "zset", *_words(MANY))]),
    ("rpush-1m", lambda: [("RPUSH", "list", *_words(VERY_MANY))]),
    ("pfadd-1m", lambda: [("PFADD", "hll", *_words(VERY_MANY))]),
    ("mset-200k", lambda: [("MSET", *_pairs(MANY))]),
    ("mget-200k", lambda: [("MGET", *_words(MANY, "key:%d"))]),
    ("exists-200k", lambda: [("EXISTS", *_words(MANY, "key:%d"))]),
    ("del-200k", lambda: [("DEL", *_words(MANY, "key:%d"))]),
    ("multi-100k", lambda: [("MULTI",), *[("INCR", "n")] * TRANSACTION, ("EXEC",)]),
]


def huge(options: Options) -> Workload:
    """PING latency and memory while another client moves large things, in this order."""
    return Workload(
        "huge",
        "PING of another client, and memory, during commands on large things",
        [_case(name, requests) for name, requests in CASES],
        rounds=1,
    )


def _case(name: str, requests: Requests) -> Case:
    return Case(name, lambda server: ping_during(server, requests))
