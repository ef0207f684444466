"""STRATA HOTKEYS: the keys that requests name most, sampled while somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from stratakv.proxy.observe import hotkeys
from stratakv.proxy.observe.hotkeys import HotKeys
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until


@pytest.fixture
def client(strata_server: StrataServer) -> Iterator[redis.Redis]:
    with closing(redis.Redis(port=strata_server.port)) as client:
        client.flushall()
        yield client


def asked(client: Any, *words: str | int) -> dict[bytes, Any]:
    reply = client.execute_command("STRATA", "HOTKEYS", *words)
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def test_the_key_that_is_used_most_is_met_most(client: redis.Redis) -> None:
    asked(client)

    def hottest() -> bytes | None:
        with client.pipeline(transaction=False) as pipe:
            for number in range(100):
                pipe.get("hot")
                pipe.set(f"cold:{number}", number)
            pipe.execute()
        met = asked(client, 3)[b"keys"]
        return met[0][1] if met and met[0][2] > 50 else None

    assert wait_until(hottest, "a hot key was seen") == b"hot"
    told = asked(client, 3)
    assert len(told[b"keys"]) == 3
    assert told[b"requests"] >= told[b"keys"][0][2]


@pytest.mark.parametrize("words", [["0"], ["-1"], ["x"], ["1001"], ["1", "2"]])
def test_another_count_is_refused(client: redis.Redis, words: list[str]) -> None:
    with pytest.raises(redis.ResponseError):
        asked(client, *words)


def test_memory_is_bounded_and_the_hot_ones_stay(tmp_path: Path) -> None:
    loop = asyncio.new_event_loop()
    try:
        hot = HotKeys(loop, lambda is_open: None)
        hot.ask()
        for number in range(5 * hotkeys.KEYS):
            hot.see(0, [b"hot", b"cold:%d" % number])
        hot.see(0, [b"x" * (hotkeys.KEY_BYTES + 1)])
        assert len(hot.most_used(10**6)) <= hotkeys.KEYS
        assert hot.most_used(1)[0][:2] == (0, b"hot")
        assert hot.requests == 5 * hotkeys.KEYS + 1
    finally:
        loop.close()


def test_it_ends_when_nobody_asks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hotkeys, "ASKED_SECONDS", 0.02)
    states: list[bool] = []

    async def sample() -> None:
        hot = HotKeys(asyncio.get_running_loop(), states.append)
        hot.ask()
        hot.see(0, [b"k"])
        while hot.is_running:
            await asyncio.sleep(0.001)
        assert hot.most_used(1) == []

    asyncio.run(sample())
    assert states[0] is True
    assert states[-1] is False
