"""The console in a real browser: what is clicked, drawn and typed, and what must not run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import redis

from tests.console import sample
from tests.console.running import ConsoleProcess
from tests.harness import browser as browsers
from tests.harness.browser import ENTER, LEFT, TAB, Browser
from tests.harness.waiting import wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        browsers.missing() is not None, reason=browsers.missing() or "there is a browser"
    ),
]
INJECTED = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as started:
        yield started


@pytest.fixture
def page(window: Browser, console: ConsoleProcess) -> Browser:
    """Somebody who may do everything, logged in."""
    log_in(window, console, "admin")
    return window


def log_in(window: Browser, console: ConsoleProcess, user: str) -> None:
    window.open(f"http://127.0.0.1:{console.port}/login")
    window.forget_cookies()
    window.open(f"http://127.0.0.1:{console.port}/login?next=/keys")
    window.type("input[name=user]", user)
    window.type("input[name=password]", "secret")
    window.click("button.primary")
    window.wait("document.querySelector('.bar') !== null")


def subscriber_of(client: Any) -> Any:
    return client.pubsub()


def go(page: Browser, path: str) -> None:
    page.open(page.run("location.origin") + path)


def test_keys_are_found_edited_expired_and_deleted(page: Browser, client: redis.Redis) -> None:
    sample.fill(client, users=20)
    page.click("nav a[href='/keys']")
    page.wait("document.querySelectorAll('.folders li').length >= 6")
    page.click(".folders a[href*='user%3A']")
    page.wait("document.querySelectorAll('table.keys tbody tr').length === 20")
    page.click("table.keys a[href$='user%3A7']")
    page.wait("document.querySelector('.key-name') !== null")
    assert page.text(".key-name") == "user:7"
    page.click("a[href*='/key/element'][href*='name=city']")
    page.wait("document.querySelector('textarea') !== null")
    page.type("textarea", "Rome")
    page.click("form[action='/key/put'] button")
    page.wait("document.querySelector('.note.good') !== null")
    assert client.hget("user:7", "city") == b"Rome"
    page.type("input[name=seconds]", "500")
    page.click("form[action='/key/expire'] button")
    page.wait("document.querySelector('.confirm') !== null")
    page.click(".confirm button")
    page.wait("document.querySelector('.note.good') !== null")
    assert client.ttl("user:7") > 0
    page.click("form[action='/key/delete'] button")
    page.wait("document.querySelector('.confirm') !== null")
    page.click(".confirm button")
    page.wait("document.querySelector('.note.good') !== null")
    assert not client.exists("user:7")


def test_charts_move_under_load(page: Browser, client: redis.Redis) -> None:
    go(page, "/")

    def moved() -> bool:
        for number in range(200):
            client.set(f"load:{number}", number)
        drawn = page.run("document.querySelectorAll('.wide-chart path.stack').length")
        points = page.run("Number(document.querySelector('.chart').dataset.points || 0)")
        return int(drawn) > 0 and int(points) > 3

    wait_until(moved, "the chart of operations is drawn")
    page.wait("document.querySelectorAll('.tile').length >= 5")
    before = page.run("document.querySelector('.wide-chart path.stack').getAttribute('d')")
    page.wait(f"document.querySelector('.wide-chart path.stack')?.getAttribute('d') !== {before!r}")


def test_a_command_is_completed_explained_and_run(page: Browser, client: redis.Redis) -> None:
    client.hset("h", mapping={"f": "v"})
    go(page, "/prompt")
    page.wait("document.querySelector('#prompt').dataset.ready === 'yes'")
    page.type("#line", "hgetal")
    page.wait("document.querySelector('#offers li')?.textContent === 'HGETALL'")
    page.click("#offers li")
    page.wait("document.querySelector('#help code')?.textContent.startsWith('HGETALL key')")
    page.type("#line", "HGETALL h\n")
    page.wait("document.querySelectorAll('#output pre').length === 2")
    assert page.text("#output") == '\u203a HGETALL h\n1) "f"\n2) "v"'


def test_a_channel_is_tailed(page: Browser, client: redis.Redis) -> None:
    go(page, "/channels?channel=news")
    page.wait("document.querySelector('#tail-state').textContent.startsWith('listening')")
    client.publish("news", INJECTED)
    page.wait("document.querySelectorAll('#tail li').length === 1")
    assert page.run("document.querySelector('#tail code').textContent") == INJECTED.replace(
        "\n", "\\n"
    )
    assert page.run("document.title").startswith("Pub/sub")


def test_nothing_that_is_stored_or_named_runs(
    page: Browser, client: redis.Redis, console: ConsoleProcess
) -> None:
    client.set(INJECTED, INJECTED)
    client.hset("h", mapping={INJECTED: INJECTED})
    client.client_setname(INJECTED.replace(" ", "_"))
    client.config_set("slowlog-log-slower-than", 0)
    client.get(INJECTED)
    client.config_set("slowlog-log-slower-than", 10_000)
    with closing(subscriber_of(client)) as subscriber:
        subscriber.subscribe(INJECTED)
        subscriber.get_message(timeout=5)
        name = "%3Cimg%20src%3Dx%20onerror%3D%22document.title%3D%27taken%27%22%3E"
        name += "%3Cscript%3Edocument.title%3D%27taken%27%3C/script%3E"
        paths = ["/keys", f"/key?key={name}", "/key?key=h", "/slow", "/clients", "/channels"]
        for path in [
            *paths,
            f"/channels?channel={name}",
            f"/keys?match={name}",
            f"/rows?key={name}",
        ]:
            go(page, path)
            page.wait("document.readyState === 'complete'")
            assert "taken" not in page.run("document.title"), path
            assert page.run("document.querySelectorAll('main img, main script').length") == 0


def test_it_needs_nothing_from_elsewhere_and_no_inline_code(page: Browser) -> None:
    for path in ("/", "/keys", "/prompt"):
        go(page, path)
        origins = page.run(
            "performance.getEntriesByType('resource').map(entry => new URL(entry.name).origin)"
        )
        assert set(origins) == {page.run("location.origin")}
        assert (
            page.run("document.querySelectorAll('[style], script:not([src]), style').length") == 0
        )


def test_who_may_only_read_finds_no_way_to_change(
    window: Browser, console: ConsoleProcess, client: redis.Redis
) -> None:
    client.set("k", "v")
    log_in(window, console, "reader")
    go(window, "/key?key=k")
    assert window.run("document.querySelectorAll('form[action^=\"/key/\"]').length") == 0
    go(window, "/settings")
    assert "You may not do this" in window.text("main")


def test_it_fits_a_phone(page: Browser, client: redis.Redis) -> None:
    sample.fill(client, users=9)
    page.resize(400, 800)
    try:
        for path in ("/", "/keys", "/key?key=user:1", "/clients", "/prompt", "/settings", "/large"):
            go(page, path)
            page.wait("document.readyState === 'complete'")
            wide = page.run("document.documentElement.scrollWidth - innerWidth")
            assert int(wide) <= 0, path
            # The name of the page that is shown is among those that one sees.
            mark = "document.querySelector('.bar nav a[aria-current]').getBoundingClientRect()"
            assert page.run(f"{mark}.left >= 0 && {mark}.right <= innerWidth"), path
    finally:
        page.resize(1280, 900)


def test_a_keyboard_is_enough(page: Browser, client: redis.Redis) -> None:
    """From the keys to a field of a hash, to a chart, and to another colour, without a mouse."""
    client.hset("user:1", mapping={"city": "Oslo"})
    go(page, "/prompt")
    page.wait("document.readyState === 'complete'")
    page.run("document.activeElement.blur()")
    page.press("2")  # the second page
    page.wait("location.pathname === '/keys' && document.readyState === 'complete'")
    page.press(TAB)
    assert page.run("document.activeElement.textContent") == "To the content"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.press("/")
    page.wait("document.activeElement.name === 'match'")
    page.press(*"user:1", ENTER)
    page.wait("location.search.includes('match=user') && document.readyState === 'complete'")
    reach(page, "[href*='prefix=user']")
    page.press(ENTER)
    page.wait("location.search.includes('prefix=user') && document.readyState === 'complete'")
    reach(page, "table.keys a")
    page.press(ENTER)
    page.wait("location.pathname === '/key' && document.readyState === 'complete'")
    reach(page, "a[href*='/key/element']")
    page.press(ENTER)
    page.wait("document.querySelector('textarea') !== null")
    reach(page, "textarea")
    page.press("x")
    reach(page, "form[action='/key/put'] button")
    page.press(ENTER)
    page.wait("document.querySelector('.note.good') !== null")
    assert client.hget("user:1", "city") != b"Oslo"


def test_the_arrow_keys_move_through_a_chart(page: Browser, client: redis.Redis) -> None:
    go(page, "/")
    page.wait("Number(document.querySelector('.chart').dataset.points || 0) > 2")
    reach(page, "figure.chart")
    page.press(LEFT)
    page.wait("document.querySelector('.chart output').textContent !== ''")


def reach(page: Browser, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(200):
        page.press(TAB)
        if page.run(f"document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_light_and_dark_are_chosen(page: Browser) -> None:
    go(page, "/keys")
    page.click("form[action='/theme'] button")
    page.wait("document.documentElement.dataset.theme === 'dark'")
    dark = page.run("getComputedStyle(document.body).backgroundColor")
    page.click("form[action='/theme'] button")
    page.wait("document.documentElement.dataset.theme === 'light'")
    assert page.run("getComputedStyle(document.body).backgroundColor") != dark
