"""The page in a real browser, over a real server: what it shows, and every way to click through."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from examples.flume_metrics import sample
from examples.flume_metrics.load import load, report_now
from examples.flume_metrics.rows import Row
from examples.flume_metrics.server import MetricsServer
from examples.flume_metrics.shapes import COUNT
from examples.flume_metrics.store import Machine, MetricsStore
from tests.harness import browser as browsers
from tests.harness.browser import Browser
from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        browsers.missing() is not None, reason=browsers.missing() or "there is a browser"
    ),
]
WEB_01, WEB_02, PAY_01 = sample.AGENTS
REFRESH_MS = 200
COUNT_CHART, SIZE_CHART = "#chart-count", "#chart-size"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as started:
        yield started


@pytest.fixture(scope="module")
def strata(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    server = StrataServer(tmp_path_factory.mktemp("page") / "data").start()
    yield server
    server.stop()


@pytest.fixture
def client(strata: StrataServer) -> Iterator[redis.Redis]:
    with redis.Redis(port=strata.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def store(client: redis.Redis) -> MetricsStore:
    """Twelve minutes of traffic, up to 14:09:40."""
    store = MetricsStore(client)
    load(store, minutes=12)
    return store


@pytest.fixture
def page(store: MetricsStore, browser: Browser) -> Iterator[Browser]:
    """The page as it opens: the first machine, the newest hour, live."""
    with opened(store, browser):
        yield browser


@contextmanager
def opened(store: MetricsStore, browser: Browser) -> Iterator[None]:
    server = MetricsServer(store)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        browser.open(f"{server.url}/?refresh={REFRESH_MS}")
        drawn(browser, PAY_01, "20151111 14")
        yield
        browser.open("about:blank")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def drawn(browser: Browser, agent: sample.Agent, ts: str) -> None:
    browser.wait(f"document.body.dataset.drawn === '{agent.machine} {ts}'")


def choose(browser: Browser, agent: sample.Agent) -> None:
    browser.click(f"[data-machine='{agent.machine}']")


def areas(browser: Browser, chart: str) -> list[str]:
    found = browser.run(
        f"[...document.querySelectorAll('{chart} polygon')].map(area => area.dataset.log)"
    )
    return list(found)


def points(browser: Browser, chart: str) -> int:
    line = browser.run(f"document.querySelector('{chart} polyline').getAttribute('points')")
    return len(line.split())


def current(browser: Browser, group: str) -> str:
    return browser.text(f"{group} [aria-current=true]")


def is_live(browser: Browser) -> bool:
    return bool(browser.run("document.querySelector('#live').ariaPressed === 'true'"))


def test_it_opens_on_the_newest_hour_of_the_first_machine(page: Browser) -> None:
    assert page.text("#host-name") == "pay-01:8460"
    assert page.text("#machine-id") == PAY_01.machine
    assert current(page, "#range") == "14 h"
    assert areas(page, COUNT_CHART) == areas(page, SIZE_CHART) == list(PAY_01.logids)
    assert points(page, COUNT_CHART) == 10  # the minutes from 14:00 to 14:09
    assert is_live(page)


def test_it_needs_nothing_from_elsewhere(page: Browser) -> None:
    origins = page.run(
        "performance.getEntriesByType('resource').map(entry => new URL(entry.name).origin)"
    )
    assert set(origins) == {page.run("location.origin")}


def test_clicking_a_machine_shows_its_logs_and_sums(page: Browser, store: MetricsStore) -> None:
    choose(page, WEB_01)
    drawn(page, WEB_01, "20151111 14")
    assert page.text("#host-name") == "web-01:8454"
    assert areas(page, COUNT_CHART) == list(WEB_01.logids)
    rows = list(store.rows_of_machine(WEB_01.machine, "20151111 14", "1m"))
    now = sum(row.metrics[COUNT] for row in rows if row.time == "20151111 14:09")
    assert page.text("#tile-count") == f"{now:,}"
    assert page.text("#tile-logs") == "4"
    total = sum(row.metrics[COUNT] for row in rows if row.logid == "0000000012")
    assert f"{total:,}" in page.text("tr[data-log='0000000012']")


def test_clicking_through_from_the_day_to_five_seconds_and_back(page: Browser) -> None:
    page.click("[data-scope=day]")
    drawn(page, PAY_01, "20151111")
    assert points(page, COUNT_CHART) == 13  # 13:57 to 14:09
    page.click(f"{COUNT_CHART} rect")
    drawn(page, PAY_01, "20151111 14")  # the middle of the day's chart is 14:03
    assert not is_live(page)
    page.click(f"{SIZE_CHART} rect")
    page.wait("document.querySelector('#range [data-scope=minute]') !== null")
    minute = current(page, "#range")
    assert re.fullmatch(r"14:0[45]", minute)
    assert points(page, COUNT_CHART) == 12  # five-second rows
    assert "5 seconds" in page.text("#step-count")
    page.click("#earlier")
    drawn(page, PAY_01, f"20151111 14:0{int(minute[-1]) - 1}")
    page.click("#later")
    drawn(page, PAY_01, f"20151111 {minute}")
    page.click("[data-scope=hour]")
    drawn(page, PAY_01, "20151111 14")


def test_a_log_can_be_hidden_and_shown(page: Browser) -> None:
    page.click("tr[data-log='0000000007']")
    page.wait("document.querySelectorAll('#chart-count polygon').length === 1")
    assert areas(page, SIZE_CHART) == ["0000000021"]
    page.click("tr[data-log='0000000007']")
    page.wait("document.querySelectorAll('#chart-count polygon').length === 2")


def test_pointing_at_a_chart_tells_the_numbers(page: Browser) -> None:
    page.click("#live")
    page.wait("document.querySelector('#live').ariaPressed === 'false'")
    page.hover(f"{COUNT_CHART} rect")
    page.wait("!document.querySelector('#tip').hidden")
    told = page.text("#tip")
    assert re.match(r"14:0[45]\n", told)
    assert all(logid in told for logid in PAY_01.logids)


def test_new_reports_appear_by_themselves(page: Browser, store: MetricsStore) -> None:
    before = page.text("#tile-total"), points(page, COUNT_CHART)
    report_now(store, sample.LAST + timedelta(minutes=1))
    page.wait("document.querySelector('#machines small').textContent === '20151111 14:10:40'")
    page.wait(f"document.querySelector('#tile-total').textContent !== '{before[0]}'")
    assert points(page, COUNT_CHART) == before[1] + 1
    report_now(store, sample.LAST + timedelta(hours=1))
    drawn(page, PAY_01, "20151111 15")  # live goes on to the next hour


def test_without_live_the_range_stays_and_live_catches_up(
    page: Browser, store: MetricsStore
) -> None:
    page.click("#live")
    page.wait("document.querySelector('#live').ariaPressed === 'false'")
    report_now(store, sample.LAST + timedelta(hours=1))
    choose(page, WEB_02)
    drawn(page, WEB_02, "20151111 14")
    page.click("#live")
    drawn(page, WEB_02, "20151111 15")


class SlowStore(MetricsStore):
    """Every answer takes longer than the page's interval."""

    def machines(self) -> list[Machine]:
        time.sleep(3 * REFRESH_MS / 1000)
        return super().machines()


def test_answers_slower_than_the_interval_are_drawn(
    client: redis.Redis, store: MetricsStore, browser: Browser
) -> None:
    with opened(SlowStore(client), browser):
        report_now(store, sample.LAST + timedelta(hours=1))
        drawn(browser, PAY_01, "20151111 15")


class HeldStore(MetricsStore):
    """What is told of one machine waits until the test lets it go."""

    def __init__(self, client: redis.Redis, held: str) -> None:
        super().__init__(client)
        self.held = held
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def rows_of_machine(self, machine: str, ts: str, step: str = "5s") -> Iterator[Row]:
        if machine == self.held:
            self.is_asked.set()
            assert self.may_answer.wait(HANG_S)
        return super().rows_of_machine(machine, ts, step)


@pytest.mark.usefixtures("store")
def test_an_older_answer_never_replaces_a_newer_one(client: redis.Redis, browser: Browser) -> None:
    slow = HeldStore(client, WEB_01.machine)
    with opened(slow, browser):
        choose(browser, WEB_01)
        assert slow.is_asked.wait(HANG_S)
        choose(browser, WEB_02)
        drawn(browser, WEB_02, "20151111 14")
        slow.may_answer.set()
        browser.wait("view.waiting === 0")
        assert browser.text("#host-name") == "web-02:8454"
        assert current(browser, "#machines").startswith("web-02")


def test_a_range_without_rows_says_so(page: Browser) -> None:
    page.click("#later")
    drawn(page, PAY_01, "20151111 15")
    assert "nothing to show" in page.text(COUNT_CHART)
    assert page.text("#tile-count") == "0"


def test_the_address_holds_the_view(page: Browser) -> None:
    base = page.run("location.origin")
    page.open("about:blank")
    page.open(f"{base}/#machine={WEB_02.machine}&ts=20151111 14:05")
    drawn(page, WEB_02, "20151111 14:05")
    assert not is_live(page)
    page.open("about:blank")
    page.open(f"{base}/#machine={WEB_02.machine}&ts=2015xx11")
    page.wait("!document.querySelector('#problem').hidden")
    assert "ts must be" in page.text("#problem")


def test_the_screenshot_of_the_readme_is_of_this_size() -> None:
    png = Path(sample.__file__).with_name("page.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) < 200_000
