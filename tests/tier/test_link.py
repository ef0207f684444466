"""The link by itself, against a real redis-server: order, addresses, losses, and coming back."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stratakv.storage.cache.address import parse_address
from stratakv.storage.cache.contract import BYPASS, NoCache
from stratakv.storage.cache.link import Link
from tests.harness.servers import RedisServer
from tests.harness.waiting import HANG_S, loop_until, wait_until


class Guarded(RedisServer):
    """One that wants a password, and listens on a unix socket as well."""

    def _answers(self) -> bool:
        socket = Path(self.flags[1])
        return wait_until(lambda: socket.exists() or not self.is_running) and self.is_running


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    flags = ("--unixsocket", str(tmp_path / "redis.sock"), "--requirepass", "secret")
    server = Guarded(tmp_path / "redis", flags=flags).start()
    yield server
    server.stop()


async def connected(url: str, **options: Any) -> Link:
    """A link that is patient with a busy machine, unless told otherwise."""
    ready = asyncio.Event()
    options.setdefault("timeout_seconds", HANG_S)
    link = Link(asyncio.get_running_loop(), parse_address(url), on_ready=ready.set, **options)
    link.start()
    await asyncio.wait_for(ready.wait(), HANG_S)
    return link


async def asked(link: Link, *words: bytes) -> Any:
    future = asyncio.get_running_loop().create_future()
    link.ask(words, future.set_result)
    return await asyncio.wait_for(future, HANG_S)


async def test_replies_come_in_the_order_of_the_requests(redis: RedisServer) -> None:
    link = await connected(f"redis://:secret@127.0.0.1:{redis.port}/0")
    replies: list[Any] = []
    for number in range(1000):
        link.ask((b"ECHO", b"%d" % number), replies.append)
    await loop_until(lambda: len(replies) == 1000)
    assert replies == [b"%d" % number for number in range(1000)]
    link.close()


async def test_passwords_databases_and_unix_sockets(redis: RedisServer, tmp_path: Path) -> None:
    unix = await connected(f"unix://:secret@{tmp_path}/redis.sock?db=3")
    assert await asked(unix, b"SET", b"k", b"v") == b"OK"
    tcp = await connected(f"redis://default:secret@127.0.0.1:{redis.port}/3")
    assert await asked(tcp, b"GET", b"k") == b"v"
    other = await connected(f"redis://:secret@127.0.0.1:{redis.port}/4")
    assert await asked(other, b"GET", b"k") is None
    for link in (unix, tcp, other):
        link.close()


async def test_a_wrong_password_is_a_bypass_with_its_reason(redis: RedisServer) -> None:
    place = parse_address(f"redis://:wrong@127.0.0.1:{redis.port}")
    link = Link(asyncio.get_running_loop(), place)
    link.start()
    await loop_until(lambda: "WRONGPASS" in link.reason)
    assert await asked(link, b"GET", b"k") is BYPASS
    assert link.state in ("open", "half-open")
    link.close()


async def test_a_stopped_redis_costs_the_connection_and_comes_back(redis: RedisServer) -> None:
    losses: list[int] = []
    link = await connected(
        f"redis://:secret@127.0.0.1:{redis.port}",
        timeout_seconds=0.03,
        on_loss=lambda: losses.append(1),
    )
    os.kill(redis.pid, signal.SIGSTOP)
    try:
        assert await asked(link, b"SET", b"k", b"old") is BYPASS
        assert losses
        assert not link.ready
        assert await asked(link, b"GET", b"k") is BYPASS, "at once, without waiting"
    finally:
        os.kill(redis.pid, signal.SIGCONT)
    link.timeout_seconds = HANG_S
    await loop_until(lambda: link.ready)
    assert await asked(link, b"SET", b"k", b"new") == b"OK"
    await asyncio.sleep(0.1)
    assert await asked(link, b"GET", b"k") == b"new", "nothing of the old connection comes after"
    link.close()


async def test_a_refused_change_counts_as_lost(redis: RedisServer) -> None:
    losses: list[int] = []
    link = await connected(
        f"redis://:secret@127.0.0.1:{redis.port}", on_loss=lambda: losses.append(1)
    )
    link.tell((b"NOSUCHCOMMAND",))
    behind = await asked(link, b"PING")
    assert behind is BYPASS, "what was asked behind it may have seen the old state"
    assert losses
    link.close()


async def test_a_closed_link_answers_what_was_open(redis: RedisServer) -> None:
    link = await connected(f"redis://:secret@127.0.0.1:{redis.port}")
    replies: list[Any] = []
    link.ask((b"PING",), replies.append)
    link.close()
    assert replies == [BYPASS]
    assert await asked(link, b"PING") is BYPASS


def test_no_cache_bypasses_everything() -> None:
    replies: list[Any] = []
    cache = NoCache()
    cache.ask((b"PING",), replies.append)
    cache.tell((b"PING",), replies.append)
    cache.tell((b"PING",))
    assert replies == [BYPASS, BYPASS]
    assert (cache.ready, cache.state) == (False, "none")
