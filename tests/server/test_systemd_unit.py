"""The unit of deploy/systemd: what it starts, what systemd thinks of it, what it forbids."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from stratakv import options
from tests.harness.servers import ROOT, StrataServer

UNIT = ROOT / "deploy/systemd/stratakv.service"
PROGRAM = "/opt/stratakv/bin/stratakv"


def service() -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNIT)
    return parser["Service"]


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that there is."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    copy = tmp_path / "stratakv.service"
    copy.write_text(UNIT.read_text().replace(PROGRAM, "/bin/true"))
    return copy


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_starts_the_server_with_options_that_there_are() -> None:
    program, command, *flags = shlex.split(service()["ExecStart"])
    assert (program, command) == (PROGRAM, "serve")
    names = {flag.removeprefix("--") for flag in flags if flag.startswith("--")}
    assert names <= {*options.declared(), "config"}
    assert service()["ExecReload"].endswith("-HUP $MAINPID")
    assert service()["Type"] == "notify"
    state = f"/var/lib/{service()['StateDirectory']}"
    assert flags[flags.index("--dir") + 1] == state


def test_systemd_understands_every_line(unit: Path) -> None:
    done = analyze("verify", unit)
    assert (done.returncode, done.stderr) == (0, "")


def test_little_is_left_open(unit: Path) -> None:
    done = analyze("security", "--offline=true", unit)
    exposure = re.search(r"exposure level for \S+: (\d+\.\d)", done.stdout)
    if exposure is None:
        pytest.skip("this systemd cannot judge a unit that is not loaded")
    assert float(exposure[1]) < 2


def test_no_memory_is_both_written_and_run(tmp_path: Path) -> None:
    """Else MemoryDenyWriteExecute would end the server, perhaps at its first script."""
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        assert (
            client.send("EVAL", "return redis.call('SET', KEYS[1], 'v')", 1, "k").raw == b"+OK\r\n"
        )
        client.send("BGSAVE")
        maps = Path(f"/proc/{server.pid}/maps").read_text()
    server.stop()
    assert "r-xp" in maps
    assert not re.search(r" rwx[ps] ", maps)
