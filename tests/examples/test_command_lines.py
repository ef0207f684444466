"""What the examples' command lines have in common: a mistake is one line, never a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from examples.flume_metrics import __main__ as flume_metrics
from examples.momentry import cli as momentry
from examples.shop_index import __main__ as shop_index
from examples.transcode import cli as transcode
from tests.harness.servers import ROOT
from tests.harness.waiting import HANG_S

NOBODY = "redis://127.0.0.1:1"
READS = {
    "transcode": (transcode, ["--url", "{}", "hosts"]),
    "momentry": (momentry, ["--url", "{}", "monitor", "--once"]),
    "shop_index": (shop_index, ["--server", "one={}", "rank", "16"]),
    "flume_metrics": (flume_metrics, ["--url", "{}", "load", "--minutes", "1"]),
}


@pytest.mark.parametrize("name", READS)
def test_a_server_that_is_not_there_is_one_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, words = READS[name]
    assert program.main([word.format(NOBODY) for word in words]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", READS)
def test_an_address_that_is_none_is_wrong_usage(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, words = READS[name]
    with pytest.raises(SystemExit) as caught:
        program.main([word.format("6380") for word in words])
    assert caught.value.code == 2
    assert "must specify one of the following schemes" in capsys.readouterr().err


@pytest.mark.application
@pytest.mark.parametrize("name", READS)
def test_help_tells_the_commands_by_the_modules_name(name: str) -> None:
    command = [sys.executable, "-m", f"examples.{name}", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S)
    assert done.stdout.startswith(f"usage: python -m examples.{name} ")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shop_index", ["rank", "16", "--page", "0"]),
        ("shop_index", ["build", "--shops", "0"]),
        ("shop_index", ["--date", "yesterday", "rank", "16"]),
        ("shop_index", ["--server", "one", "rank", "16"]),
        ("flume_metrics", ["load", "--minutes", "-5"]),
        ("flume_metrics", ["load", "--until", "yesterday"]),
        ("flume_metrics", ["serve", "--port", "65536"]),
    ],
)
def test_wrong_usage(name: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        READS[name][0].main(words)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_an_index_of_a_day_without_sales_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--server", f"one={NOBODY}", "--date", "2013-01-01", "build", "--days", "2"]
    assert shop_index.main(words) == 1
    expected = "error: no sales were seen on 2013-01-01, only from 2013-11-10 to 2013-11-11\n"
    assert capsys.readouterr().err == expected


def test_a_database_that_is_no_number_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDIS_DB", "first")
    assert momentry.main(["--url", NOBODY, "sweep"]) == 1
    assert capsys.readouterr().err == "error: REDIS_DB is not a number: first\n"
