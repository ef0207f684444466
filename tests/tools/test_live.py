"""`stratakv import --live`: a server is copied and followed while it is written to."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stratakv.tools.places import LIVE_KEY
from tests.harness.servers import (
    ROOT,
    STRATAKV,
    Process,
    RedisServer,
    StrataServer,
    environment,
)
from tests.harness.waiting import HANG_S, wait_until
from tests.rdb import contents
from tests.replication.fleet import info
from tests.tools.running import stratakv, succeeded, url

pytestmark = pytest.mark.slow


@pytest.fixture
def source(tmp_path: Path, redis_server: RedisServer) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "source", flags=("--repl-backlog-size", "300mb")).start()
    with server.client() as client:
        contents.fill(client, large=800)
    yield server
    server.stop()


@pytest.fixture(params=["strata", "redis"])
def target(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Process]:
    kind: Callable[[Path], RedisServer | StrataServer] = (
        StrataServer if request.param == "strata" else RedisServer
    )
    server = kind(tmp_path / "target").start()
    yield server
    server.stop()


class Writer:
    """Writes to a server until it is stopped: what must be done once, and in order."""

    def __init__(self, server: RedisServer) -> None:
        self._client = server.client()
        self._goes_on = True
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        rng = random.Random(5)
        number = 0
        while self._goes_on:
            number += 1
            self._client.pipeline(
                [
                    ("SELECT", rng.choice((0, 3))),
                    ("INCR", "counter"),
                    ("RPUSH", "events", number),
                    ("MULTI",),
                    ("INCRBY", "first", 3),
                    ("SELECT", 3),
                    ("HINCRBY", "counts", f"f{number % 7}", 1),
                    ("SPOP", "set:large"),
                    ("EXEC",),
                    ("SET", f"k{number % 50}", number, "PX", 10_000_000),
                    ("EVAL", "return redis.call('INCR', KEYS[1])", 1, "scripted"),
                ]
            )

    def stop(self) -> None:
        self._goes_on = False
        self._thread.join()
        self._client.close()


def test_a_server_is_copied_and_followed_while_it_is_written_to(
    source: RedisServer, target: Process
) -> None:
    writer = Writer(source)
    live = subprocess.Popen(
        [*STRATAKV, "import", url(source), url(target), "--live"],
        cwd=ROOT,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert live.stdout is not None
    with target.client() as client:
        wait_until(lambda: client.send("EXISTS", LIVE_KEY).frame.number == 1)
        wait_until(lambda: b"copying" not in client.send("GET", LIVE_KEY).raw)
        seen = client.send("GET", LIVE_KEY).raw
        wait_until(lambda: client.send("GET", LIVE_KEY).raw != seen, "nothing is followed")
    writer.stop()
    with source.client() as client:
        client.send("SET", "the last", "of all")
        written = int(info(client)["master_repl_offset"])
    for line in live.stdout:
        if line.startswith("in step") and int(line.split()[4].rstrip(":")) >= written:
            break  # it may have been said before, between two writes
    assert succeeded("compare", url(source), url(target)) == "no difference\n"
    live.send_signal(signal.SIGTERM)  # a job in the background hears no SIGINT
    rest = live.communicate(timeout=HANG_S)[0]
    assert "the same command goes on" in rest
    assert live.returncode == 130


def wait_until_it_goes_on(target: Process) -> None:
    with target.client() as client:
        before = client.send("GET", LIVE_KEY).raw
        wait_until(lambda: client.send("GET", LIVE_KEY).raw not in (before, b"$-1\r\n"))


def test_it_goes_on_after_kill9_and_does_everything_once(
    source: RedisServer, target: Process
) -> None:
    writer = Writer(source)
    goes_on = 0
    try:
        for _ in range(4):
            live = subprocess.Popen(
                [*STRATAKV, "import", url(source), url(target), "--live"],
                cwd=ROOT,
                env={**environment(), "PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                text=True,
            )
            wait_until_it_goes_on(target)
            live.kill()
            goes_on += "going on behind offset" in live.communicate()[0]
    finally:
        writer.stop()
    said = succeeded("import", url(source), url(target), "--live", "--until-in-step")
    assert "in step at offset" in said
    assert "going on behind offset" in said
    assert goes_on
    assert succeeded("compare", url(source), url(target)) == "no difference\n"


def test_what_is_wrong_is_said(source: RedisServer, target: Process, tmp_path: Path) -> None:
    with target.client() as client:
        client.send("SET", "mine", "1")
    for words, expected in (
        ((url(source), url(target), "--live"), "is not empty, and no copy that was begun here"),
        ((url(source), url(target), "--live", "--db", "1"), "it goes with no other option"),
        ((tmp_path / "x.rdb", url(target), "--live"), "--live follows a server"),
        ((url(source), tmp_path, "--live"), "export a dump first"),
    ):
        code, said = stratakv("import", *words)
        assert (code, expected in said, "Traceback" in said) == (1, True, False), said
    with target.client() as client:
        assert client.send("GET", "mine").frame.data == b"1"
