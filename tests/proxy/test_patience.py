"""Long work in slices: one slice a turn for all of it, in order, with waits in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stratakv.proxy.run.patience import Patience


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_work_runs_between_the_turns_of_the_loop() -> None:
    patience = Patience(asyncio.get_running_loop())
    log: list[int] = []

    def work() -> None:
        for number in range(3):
            log.append(number)
            patience.pause()

    patience.start(work)
    assert (log, patience.running) == ([], 1)
    seen = []
    for _ in range(5):
        await asyncio.sleep(0)
        seen.append(len(log))
    assert log == [0, 1, 2]
    assert seen[0] <= 1, "no more than a slice a turn"
    assert patience.running == 0


async def test_all_work_shares_one_slice_a_turn_in_order() -> None:
    patience = Patience(asyncio.get_running_loop())
    log: list[str] = []

    def worker(name: str) -> Callable[[], None]:
        def work() -> None:
            for _ in range(3):
                log.append(name)
                patience.pause()

        return work

    for name in "abc":
        patience.start(worker(name))
    slices = []
    while patience.running:
        before = len(log)
        await asyncio.sleep(0)
        slices.append(len(log) - before)
    assert "".join(log) == "abcabcabc"
    assert slices[0] <= 3, "those that begin are taken together"
    assert max(slices[1:]) == 1


async def test_work_that_waits_leaves_the_loop_alone_until_it_is_called() -> None:
    patience = Patience(asyncio.get_running_loop())
    log: list[str] = []
    wake: list[Callable[[], None]] = []

    def work() -> None:
        log.append("waits")
        patience.wait(wake.append)
        log.append("goes on")

    patience.start(work)
    await turns(5)
    assert log == ["waits"]
    wake[0]()
    assert log == ["waits"], "it goes on in a turn of its own"
    await turns(2)
    assert log == ["waits", "goes on"]


async def test_a_callback_that_comes_at_once_is_not_lost() -> None:
    patience = Patience(asyncio.get_running_loop())
    log: list[str] = []

    def work() -> None:
        patience.wait(lambda resume: resume())
        log.append("goes on")

    patience.start(work)
    await turns(3)
    assert log == ["goes on"]


async def test_work_started_by_work_runs_too() -> None:
    patience = Patience(asyncio.get_running_loop())
    log: list[str] = []

    def inner() -> None:
        patience.pause()
        log.append("inner")

    def outer() -> None:
        patience.start(inner)
        patience.pause()
        log.append("outer")

    patience.start(outer)
    await turns(8)
    assert sorted(log) == ["inner", "outer"]
    assert patience.running == 0
