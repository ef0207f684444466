"""A headless Chromium, driven through chromedriver: the W3C WebDriver protocol, JSON over HTTP."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from tests.harness.servers import free_port
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.watchdog import mind

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's name for an element's id
TAB, ENTER, LEFT = "\ue004", "\ue007", "\ue012"
"""Keys by the protocol's codes."""
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing() -> str | None:
    """Why there can be no browser here; None if there can."""
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            return f"{name} is not installed (Debian: apt-get install chromium chromium-driver)"
    return None


class Browser:
    """One window of a fresh profile under `home`. Use as a context manager.

    A certificate with the key `trusted_key` (SHA-256, base64) is taken, whoever has signed it.
    """

    def __init__(
        self, home: Path, width: int = 1280, height: int = 900, trusted_key: str = ""
    ) -> None:
        self._home = home
        self._flags = [*_FLAGS, f"--user-data-dir={home}", f"--window-size={width},{height}"]
        if trusted_key:
            self._flags.append(f"--ignore-certificate-errors-spki-list={trusted_key}")
        # Never by way of a proxy: chromedriver is on this machine.
        self._http = build_opener(ProxyHandler({}))
        self._base = ""

    def __enter__(self) -> Self:
        self._base = f"http://127.0.0.1:{self._start_driver()}"
        try:
            wait_until(self._is_ready, "chromedriver is ready")
            options = {"args": self._flags, "binary": shutil.which("chromium")}
            wanted = {"alwaysMatch": {"goog:chromeOptions": options}}
            session = self._send("POST", "/session", {"capabilities": wanted})["sessionId"]
        except BaseException:
            self._stop_driver()
            raise
        self._base += f"/session/{session}"
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._send("DELETE", "")
        finally:
            self._stop_driver()

    def open(self, url: str) -> None:
        self._send("POST", "/url", {"url": url})

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        return self._send("POST", "/execute/sync", {"script": f"return {script}", "args": []})

    def click(self, selector: str) -> None:
        """Click the middle of an element as a mouse would; it must exist and be visible."""
        self._send("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Type into a field, in place of what stands there."""
        element = self._find(selector)
        self._send("POST", f"/element/{element}/clear", {})
        self._send("POST", f"/element/{element}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is: characters, or the codes above."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keyboard", "actions": strokes}
        self._send("POST", "/actions", {"actions": [keyboard]})

    def choose(self, selector: str, value: str) -> None:
        """Choose one of a list by its value."""
        self.click(f"{selector} option[value='{value}']")

    def resize(self, width: int, height: int) -> None:
        """Another size of the window."""
        self._send("POST", "/window/rect", {"width": width, "height": height})

    def forget_cookies(self) -> None:
        """As a browser that was never at this site."""
        self._send("DELETE", "/cookie")

    def hover(self, selector: str) -> None:
        """Move the mouse to the middle of an element."""
        origin = {_ELEMENT: self._find(selector)}
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": origin}
        mouse = {"type": "pointer", "id": "mouse", "actions": [move]}
        self._send("POST", "/actions", {"actions": [mouse]})

    def text(self, selector: str) -> str:
        """What a reader sees of an element."""
        return str(self._send("GET", f"/element/{self._find(selector)}/text"))

    def wait(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        wait_until(lambda: self.run(expression), expression)

    def screenshot(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self._send("GET", "/screenshot")))

    def _find(self, selector: str) -> str:
        wanted = {"using": "css selector", "value": selector}
        return str(self._send("POST", "/element", wanted)[_ELEMENT])

    def _start_driver(self) -> int:
        port = free_port()
        self._log = (self._home.parent / f"{self._home.name}.log").open("wb")
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=self._log, stderr=subprocess.STDOUT
        )
        mind(self._driver.pid, signal.SIGTERM)  # it takes the browser with it
        return port

    def _stop_driver(self) -> None:
        self._driver.terminate()
        self._driver.wait(HANG_S)
        self._log.close()

    def _is_ready(self) -> bool:
        try:
            return bool(self._send("GET", "/status")["ready"])
        except OSError:
            return False

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with self._http.open(request, timeout=HANG_S) as answer:
                return json.load(answer)["value"]
        except HTTPError as refused:
            reason = json.load(refused)["value"]
            raise AssertionError(f"{method} {path} {body}: {reason['message']}") from None
