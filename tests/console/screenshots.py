"""The pictures of docs/console.md: each page, light and dark, over a small shop's data.

python -m tests.console.screenshots [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import redis

from tests.console import sample
from tests.console.running import ConsoleProcess, metrics_of, url_of
from tests.harness import browser as browsers
from tests.harness.browser import Browser
from tests.harness.servers import ROOT, StrataServer
from tests.harness.waiting import wait_until

PLACE = ROOT / "docs" / "images" / "console"
SIZE = (1280, 860)
LARGEST = 200_000
SAMPLES = 20
"""So many points are waited for, to have charts that show something."""
PAGES = {
    "overview": "/",
    "keys": "/keys",
    "key": "/key?key=product:7:json",
    "layout": "/rows?key=user:7",
    "large": "/large",
    "slow": "/slow",
    "clients": "/clients",
    "channels": "/channels?channel=orders",
    "configuration": "/settings?find=cache",
    "prompt": "/prompt",
}


def main(place: Path) -> int:
    """All of them; says which is too large."""
    if why := browsers.missing():
        print(why, file=sys.stderr)
        return 1
    place.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        _running(Path(home)) as (console, client),
        Browser(Path(home) / "profile", *SIZE) as window,
    ):
        _log_in(window, console.port, place)
        _begin_survey(window)
        for theme in ("light", "dark"):
            _choose(window, theme)
            for name, path in PAGES.items():
                _picture(window, client, path, place / f"{name}-{theme}.png")
    large = [file.name for file in place.glob("*.png") if file.stat().st_size > LARGEST]
    print(f"{len(list(place.glob('*.png')))} pictures in {place}", *large)
    return 1 if large else 0


@contextmanager
def _running(home: Path) -> Iterator[tuple[ConsoleProcess, redis.Redis]]:
    """A server with data and some traffic, and a console."""
    server = StrataServer(home / "data").start()
    flags = ["--write", *metrics_of(server)]
    console = ConsoleProcess(home / "console", url_of(server), flags).start()
    client = redis.Redis(port=server.port)
    client.client_setname("worker-1")
    sample.fill(client)
    client.config_set("slowlog-log-slower-than", 3000)
    ended = threading.Event()
    worker = threading.Thread(target=_work, args=(server.port, ended))
    worker.start()
    try:
        yield console, client
    finally:
        ended.set()
        worker.join()
        client.close()
        console.stop()
        server.stop()


def _work(port: int, ended: threading.Event) -> None:
    """A shop's traffic, more and less of it."""
    with closing(redis.Redis(port=port, client_name="shop")) as client:
        number = 0
        while not ended.wait(0.02 + 0.015 * (number // 300 % 3)):
            with client.pipeline(transaction=False) as pipe:
                for _ in range(20):
                    number += 1
                    pipe.hgetall(f"user:{number * number % 40}")
                    pipe.set(f"session:{number % 50}", "x" * 60, ex=100)
                    pipe.zincrby("ranking:2026", 1, f"ada{number % 90}")
                pipe.execute()


def _log_in(window: Browser, port: int, place: Path) -> None:
    window.open(f"http://127.0.0.1:{port}/login?next=/")
    window.screenshot(place / "login.png")
    window.click("button.primary")
    window.wait("document.querySelector('.bar') !== null")
    window.wait(f"Number(document.querySelector('.chart').dataset.points) >= {SAMPLES}")


def _begin_survey(window: Browser) -> None:
    window.open(window.run("location.origin") + "/large")
    window.click("form[action='/large/start'] button")
    is_done = "document.querySelector('.treemap') && !document.querySelector('[data-refresh]')"
    window.wait(f"!!({is_done})")


def _choose(window: Browser, theme: str) -> None:
    while window.run("document.documentElement.dataset.theme") != theme:
        window.click("form[action='/theme'] button")
        window.wait("document.readyState === 'complete'")


def _picture(window: Browser, client: redis.Redis, path: str, file: Path) -> None:
    window.open(window.run("location.origin") + path)
    window.wait("document.readyState === 'complete'")
    if path == "/":
        window.wait("document.querySelectorAll('.tile').length > 0")
        time.sleep(0.5)
    elif path.startswith("/channels"):
        window.wait("document.querySelector('#tail-state').textContent.startsWith('listening')")
        for number in range(6):
            client.publish("orders", f'{{"order": {number}, "city": "Lisbon"}}')
        window.wait("document.querySelectorAll('#tail li').length === 6")
    elif path == "/prompt":
        _type(window)
    wait_until(lambda: window.run("document.readyState") == "complete")
    window.screenshot(file)


def _type(window: Browser) -> None:
    window.wait("document.querySelector('#prompt').dataset.ready === 'yes'")
    window.type("#line", "ZRANGE ranking:2026 0 2 REV WITHSCORES\n")
    window.wait("document.querySelectorAll('#output pre').length === 2")
    window.type("#line", "HEXPIRE")
    window.wait("document.querySelector('#help code') !== null")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE))
