"""What the charts show: when samples fail, how far replicas are behind, which colours they have."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Final

import pytest
import redis

from stratakv.console import forecasts, samples
from stratakv.console import recorder as recorders
from stratakv.console.client import Client, Login
from stratakv.console.pages.overview import CHARTS
from stratakv.console.recorder import Recorder
from stratakv.console.samples import Look
from stratakv.storage.cache.address import parse_address
from tests.console.running import Server, run, url_of
from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S

Told = Callable[[Recorder], bool]
CSS: Final = files("stratakv.console").joinpath("static/console.css").read_text()


async def until(recorder: Recorder, told: Told, seen: list[str] | None = None) -> None:
    """Wait for a recorder, and note all that it says meanwhile."""
    ends = time.monotonic() + HANG_S
    while not told(recorder):
        assert time.monotonic() < ends, recorder.problem
        if seen is not None:
            seen.append(recorder.problem)
        await asyncio.sleep(0.01)


def recorded(
    clients: list[Client],
    body: Callable[[Recorder], Awaitable[None]],
    own: Client | None = None,
) -> None:
    """Run a recorder while something happens."""

    async def main() -> None:
        recorder = Recorder(own, "", is_named=False)
        task = asyncio.create_task(recorder.run(clients))
        try:
            await body(recorder)
        finally:
            task.cancel()
            for client in clients:
                client.close()

    asyncio.run(main())


def login(server: Server, user: str) -> Client:
    return Client(parse_address(url_of(server)), Login(user, "secret"))


def test_while_a_slow_server_is_asked_nothing_is_said_to_be_wrong(
    server: Server, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only when it is late, that it is late."""
    monkeypatch.setattr(recorders, "INTERVAL", 0.01)
    monkeypatch.setattr(recorders, "LATE_SECONDS", 0.3)
    pid = int(client.info("server")["process_id"])
    seen: list[str] = []

    async def body(recorder: Recorder) -> None:
        await until(recorder, lambda one: one.last is not None, seen)
        os.kill(pid, signal.SIGSTOP)
        try:
            await until(recorder, lambda one: "has not answered yet" in one.problem, seen)
        finally:
            os.kill(pid, signal.SIGCONT)
        await until(recorder, lambda one: not one.problem)

    recorded([login(server, "admin")], body)
    assert {text for text in seen if "has not answered yet" not in text} == {""}


def test_the_reason_of_the_server_is_told(
    server: Server, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "INTERVAL", 0.01)
    run(client, "ACL", "SETUSER", "blind", "on", ">secret", "~*", "+@all", "-info")

    async def body(recorder: Recorder) -> None:
        await until(recorder, lambda one: "NOPERM" in one.problem)
        assert recorder.problem.startswith("the user blind may not be told: ")
        clients.append(login(server, "admin"))
        await until(recorder, lambda one: one.last is not None and not one.problem)

    clients = [login(server, "blind")]
    recorded(clients, body)


def test_a_server_without_passwords_is_recorded_before_anybody_logs_in(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "INTERVAL", 0.01)

    async def body(recorder: Recorder) -> None:
        await until(recorder, lambda one: len(one.rings["10m"].points) > 1)

    recorded([], body, Client(parse_address(url_of(server)), Login()))


def test_a_server_with_passwords_is_not_asked_again_and_again_without_one(
    server: Server, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "INTERVAL", 0.01)
    run(client, "ACL", "SETUSER", "unasked", "on", ">secret", "~*", "+@all", "-info")

    async def body(recorder: Recorder) -> None:
        await until(recorder, lambda one: "may not be told" in one.problem)
        clients.append(login(server, "admin"))
        await until(recorder, lambda one: len(one.rings["10m"].points) > 5)

    before = calls_refused(client)
    clients: list[Client] = []
    recorded(clients, body, login(server, "unasked"))
    assert calls_refused(client) == before + 1


def calls_refused(client: redis.Redis) -> int:
    """How often INFO was refused."""
    stats = client.info("commandstats")
    return int(stats.get("cmdstat_info", {}).get("rejected_calls", 0))


def test_the_slowest_replica_counts() -> None:
    info = {
        "role": "master",
        "master_repl_offset": "1000",
        "slave0": "ip=a,port=1,state=online,offset=990,lag=0",
        "slave1": "ip=b,port=2,state=online,offset=400,lag=3",
        "slave2": "ip=c,port=3,state=wait_bgsave,offset=0,lag=90",
    }
    found = samples.values(Look(1.0, info), None)
    assert (found["replication.lag"], found["replication.behind"]) == (3.0, 600.0)
    assert "replication.silence" not in found


@pytest.mark.parametrize(("age", "down", "silence"), [("2", "", 2.0), ("-1", "31", 31.0)])
def test_a_silent_master_is_told(age: str, down: str, silence: float) -> None:
    info = {"master_last_io_seconds_ago": age, "master_link_down_since_seconds": down}
    assert samples.values(Look(1.0, info), None)["replication.silence"] == silence


def test_a_breaker_is_told_if_there_is_a_tier() -> None:
    states = {"closed": 0.0, "half-open": 1.0, "open": 2.0, "none": None}
    for state, number in states.items():
        found = samples.values(Look(1.0, {"tier_breaker": state}), None)
        assert found.get("tier.breaker") == number


def test_a_server_without_a_tier_has_no_chart_of_it() -> None:
    tier = {"hits": 5.0, "misses": 1.0}
    for kind, has in (("none", False), ("redis", True)):
        looks = [Look(when, {"cache_tier": kind}, tier=tier) for when in (1.0, 2.0)]
        assert ("tier.hits" in samples.values(looks[1], looks[0])) == has


def lab(colour: str) -> tuple[float, float, float]:
    """A colour in OKLab, where distances are as eyes see them."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def test_each_series_has_a_colour_of_its_own_in_light_and_dark() -> None:
    most = max(len(chart.series) for chart in CHARTS)
    themes = [line for line in CSS.splitlines() if "--s0:" in line]
    assert len(themes) == 3  # light, dark, and dark because the system is
    assert themes[1].strip() == themes[2].strip()
    for theme in themes:
        colours = re.findall(r"--s\d+: (#[0-9a-f]{6});", theme)
        assert len(colours) >= most
        for one, other in itertools.combinations(colours, 2):
            assert math.dist(lab(one), lab(other)) > 0.07, (one, other)
    assert set(re.findall(r"\.c(\d+) \{ color: var\(--s\1\)", CSS)) >= set(map(str, range(most)))


def test_what_expires_soon_is_foretold(
    server: Server, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all databases, by StrataKV; a Redis cannot tell."""
    monkeypatch.setattr(recorders, "INTERVAL", 0.01)
    monkeypatch.setattr(forecasts, "EVERY_SECONDS", 0.01)
    for db in (0, 5):
        run(client, "SELECT", db)
        for number in range(10):
            client.set(f"soon:{number}", "x", ex=50)
            client.set(f"later:{number}", "x", ex=3000)
        client.set("stays", "x")
    run(client, "SELECT", 0)
    told = (
        {"expiring.minute": 20.0, "expiring.hour": 40.0} if isinstance(server, StrataServer) else {}
    )

    async def body(recorder: Recorder) -> None:
        await until(recorder, lambda one: len(one.rings["10m"].points) > 3)
        found = recorder.rings["10m"].points[-1][1]
        assert {name: found[name] for name in forecasts.WITHIN if name in found} == told

    recorded([login(server, "admin")], body)


def test_who_may_not_ask_what_expires_still_sees_the_rest(
    server: Server, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "INTERVAL", 0.01)
    client.set("soon", "x", ex=50)
    run(client, "ACL", "SETUSER", "teller", "on", ">secret", "+ping", "+info", "+select")

    async def body(recorder: Recorder) -> None:
        await until(recorder, lambda one: len(one.rings["10m"].points) > 3)
        found = recorder.rings["10m"].points[-1][1]
        assert "expiring.minute" not in found
        assert found["expiring"] == 1

    recorded([login(server, "teller")], body)
