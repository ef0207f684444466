"""The README's transcript is what redis-cli shows."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer

README = Path(__file__).resolve().parents[2] / "README.md"
PROMPT = "127.0.0.1:6380> "


def transcript() -> list[tuple[str, str]]:
    """The calls at the prompt of redis-cli, each with what is shown below it."""
    blocks = re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    found: list[tuple[str, str]] = []
    for block in blocks:
        _, *calls = block.split(PROMPT)
        found += [(call, shown) for call, _, shown in (each.partition("\n") for each in calls)]
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "data").start()
    yield started
    started.stop()


def test_the_transcript_is_what_redis_cli_shows(server: StrataServer) -> None:
    calls = transcript()
    assert len(calls) >= 6, "no transcript in the README"
    command = ["redis-cli", "--no-raw", "-p", str(server.port)]
    for call, shown in calls:
        ran = subprocess.run(
            [*command, *shlex.split(call)], capture_output=True, text=True, check=True, timeout=60
        )
        assert ran.stdout.rstrip("\n") == shown.rstrip("\n"), call


def test_every_page_that_the_readme_names_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    places = [link for link in links if "://" not in link]
    assert places
    assert [link for link in places if not (README.parent / link).exists()] == []
