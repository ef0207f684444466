"""Long work in slices: one slice a turn for all of it, in order, with waits in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from stratakv.proxy.run import slices as module
from stratakv.proxy.run.slices import Slices


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_work_runs_between_the_turns_of_the_loop() -> None:
    slices = Slices(asyncio.get_running_loop())
    log: list[int] = []

    def work() -> None:
        for number in range(3):
            log.append(number)
            slices.pause()

    slices.start(work)
    assert (log, slices.running) == ([], 1)
    seen = []
    for _ in range(5):
        await asyncio.sleep(0)
        seen.append(len(log))
    assert log == [0, 1, 2]
    assert seen[0] <= 1, "no more than a slice a turn"
    assert slices.running == 0


async def test_all_work_shares_one_slice_a_turn_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "perf_counter", lambda: 0.0)
    slices = Slices(asyncio.get_running_loop())
    log: list[str] = []

    def worker(name: str) -> Callable[[], None]:
        def work() -> None:
            for _ in range(3):
                log.append(name)
                slices.pause()

        return work

    for name in "abc":
        slices.start(worker(name))
    lengths = []
    while slices.running:
        before = len(log)
        await asyncio.sleep(0)
        lengths.append(len(log) - before)
    assert "".join(log) == "abcabcabc"
    assert lengths[0] == 3, "those that begin are taken together"
    assert max(lengths[1:]) == 1


async def test_those_that_begin_share_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    log: list[str] = []
    monkeypatch.setattr(module, "perf_counter", lambda: now)
    slices = Slices(asyncio.get_running_loop())

    def worker(name: str) -> Callable[[], None]:
        def work() -> None:
            nonlocal now
            now += module.AWAKE_SECONDS / 2
            log.append(name)

        return work

    for name in "abcde":
        slices.start(worker(name))
    begun = []
    while slices.running:
        before = len(log)
        await asyncio.sleep(0)
        begun.append("".join(log[before:]))
    assert begun == ["ab", "cd", "e"]


async def test_work_that_waits_leaves_the_loop_alone_until_it_is_called() -> None:
    slices = Slices(asyncio.get_running_loop())
    log: list[str] = []
    wake: list[Callable[[], None]] = []

    def work() -> None:
        log.append("waits")
        slices.wait(wake.append)
        log.append("goes on")

    slices.start(work)
    await turns(5)
    assert log == ["waits"]
    wake[0]()
    assert log == ["waits"], "it goes on in a turn of its own"
    await turns(2)
    assert log == ["waits", "goes on"]


async def test_a_callback_that_comes_at_once_is_not_lost() -> None:
    slices = Slices(asyncio.get_running_loop())
    log: list[str] = []

    def work() -> None:
        slices.wait(lambda resume: resume())
        log.append("goes on")

    slices.start(work)
    await turns(3)
    assert log == ["goes on"]


async def test_work_started_by_work_runs_too() -> None:
    slices = Slices(asyncio.get_running_loop())
    log: list[str] = []

    def inner() -> None:
        slices.pause()
        log.append("inner")

    def outer() -> None:
        slices.start(inner)
        slices.pause()
        log.append("outer")

    slices.start(outer)
    await turns(8)
    assert sorted(log) == ["inner", "outer"]
    assert slices.running == 0
