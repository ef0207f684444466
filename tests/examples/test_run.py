"""`python -m examples.run`: every example end to end, each on a fresh server."""

from __future__ import annotations

import subprocess
import sys

import pytest
import redis

from examples.run import names
from examples.server import NotStarted, fresh_server
from tests.harness.servers import ROOT
from tests.harness.waiting import HANG_S


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.run", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S)


@pytest.mark.application
@pytest.mark.parametrize("name", names())
def test_an_example_runs_and_says_what_it_did(name: str) -> None:
    done = _run(name)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"==== {name}"
    assert len(lines) > 5
    assert f"==== {name}: ok, " in done.stdout


def test_an_unknown_example_is_refused() -> None:
    done = _run("nonesuch")
    assert done.returncode == 2
    assert "no such example: nonesuch; there are " in done.stderr


def test_a_fresh_server_is_empty_and_ends_with_its_block() -> None:
    with fresh_server() as url, redis.Redis.from_url(url) as client:
        assert client.dbsize() == 0
    with redis.Redis.from_url(url) as client, pytest.raises(redis.ConnectionError):
        client.ping()


def test_a_server_that_does_not_start_is_told() -> None:
    with pytest.raises(NotStarted), fresh_server(["--durability", "nonesuch"]):
        pass
