"""setup.py: what is compiled, and what happens where nothing can be."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stratakv import build
from tests.harness.servers import ROOT, SERVER_PYTHON, STRATAKV, StrataServer
from tests.harness.waiting import HANG_S

WHEELS = Path(SERVER_PYTHON).parent.parent / "wheels"
BUILDING = ["setup.py", "bdist_wheel"]
ASKING = ["setup.py", "egg_info"]


class Calls(list[dict[str, Any]]):
    """Stands for `setuptools.setup`: what it was given."""

    def __call__(self, **settings: Any) -> None:
        self.append(settings)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """setup.py as a module, that calls nobody."""
    spec = importlib.util.spec_from_file_location("stratakv_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "setup", Calls())
    monkeypatch.setattr(module, "extensions", lambda: ["the hot path"])
    monkeypatch.setattr(module, "lacking", lambda: "")
    return module


def test_the_hot_path_is_compiled_without_a_word(script: ModuleType) -> None:
    script.main("", BUILDING)
    assert [call["ext_modules"] for call in script.setup] == [["the hot path"]]


def test_mypy_is_asked_for_only_where_it_is_needed(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.main("", ASKING)
    script.main("0", ASKING)
    monkeypatch.setattr(script, "lacking", lambda: "no C compiler")
    script.main("", ASKING)
    assert list(script.setup) == [{"setup_requires": ["mypy>=1.13"]}, {}, {}]


def test_an_editable_install_is_plain(script: ModuleType) -> None:
    script.main("", ["setup.py", "editable_wheel"])
    script.main("1", ["setup.py", "editable_wheel"])
    assert list(script.setup) == [{}, {}]


def test_without_a_compiler_the_package_is_plain_and_a_line_says_so(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "lacking", lambda: "no C compiler")
    script.main("", ASKING)
    script.main("", BUILDING)
    assert list(script.setup) == [{}, {}]
    told = capsys.readouterr().out
    assert told.startswith("stratakv: plain build: no C compiler; ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("failure", [SystemExit("error: gcc failed"), ImportError("no mypyc")])
def test_what_does_not_compile_is_plain_and_a_line_says_so(
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: BaseException,
) -> None:
    def fail() -> None:
        raise failure

    monkeypatch.setattr(script, "extensions", fail)
    script.main("", BUILDING)
    assert list(script.setup) == [{}]
    assert f"did not compile ({failure})" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"cannot be compiled: .* \((error: gcc|no mypyc)"):
        script.main("1", BUILDING)


@pytest.mark.parametrize("words", [ASKING, BUILDING])
def test_who_insists_is_refused_in_a_line(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(script, "lacking", lambda: "no C compiler")
    with pytest.raises(SystemExit, match="StrataKV cannot be compiled: no C compiler"):
        script.main("1", words)
    assert list(script.setup) == []


def test_another_wish_is_refused(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="STRATAKV_COMPILE is 'yes'"):
        script.main("yes", BUILDING)


# the build that is tested


def version(command: tuple[str, ...], env: Mapping[str, str] | None = None) -> str:
    asked = [*command, "--version"]
    return subprocess.check_output(asked, text=True, timeout=HANG_S, env=env).strip()


def expected_kind() -> str:
    """Compiled, unless the sources themselves are tested, or nothing could be compiled."""
    wheels = list(WHEELS.glob("stratakv-*.whl"))
    is_plain = sys.executable == SERVER_PYTHON or all("-none-any" in file.name for file in wheels)
    return "plain" if is_plain else "compiled"


def test_the_version_and_info_say_which_build_runs(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", flags=["--log-level", "info"]).start()
    with server.client() as client:
        told = client.send("INFO", "server").raw.decode()
    server.stop()
    assert f"stratakv_build:{expected_kind()}\r\n" in told
    said = version(STRATAKV)
    assert f"({expected_kind()} hot path" in said
    assert f"{said} starts, pid " in server.output()


def test_the_sources_are_plain() -> None:
    assert build.kind() == "plain"


@pytest.mark.skipif(sys.executable == SERVER_PYTHON, reason="`make test` builds what users get")
@pytest.mark.skipif(os.environ.get("STRATAKV_COMPILE") == "0", reason="nothing is to be compiled")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_where_there_is_a_compiler_the_build_that_users_get_is_compiled() -> None:
    log = WHEELS.parent / "build.log"
    reasons = [line for line in log.read_text().splitlines() if "stratakv: plain" in line]
    assert (expected_kind(), reasons) == ("compiled", [])


# the wheel


@pytest.fixture
def no_compiler(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has what a shell needs, and nothing that compiles."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "env", "uname", "ldd"):
        if found := shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(found)
    variables = {**os.environ, "PATH": str(tmp_path / "bin")}
    for name in ("CC", "CXX", "PYTHONPATH", "STRATAKV_PYTHON"):
        variables.pop(name, None)
    return variables


@pytest.mark.slow
@pytest.mark.skipif(not WHEELS.exists(), reason="`make test` builds the wheel")
def test_the_wheel_serves_in_a_clean_environment_without_a_compiler(
    tmp_path: Path, no_compiler: dict[str, str]
) -> None:
    """plyvel has no wheel for some Pythons: then it is the one that was compiled beside it."""
    python = str(tmp_path / "venv" / "bin" / "python")
    (wheel,) = WHEELS.glob("stratakv-*.whl")
    links = ["--find-links", str(WHEELS), "--prefer-binary"]
    steps = (
        [SERVER_PYTHON, "-m", "venv", str(tmp_path / "venv")],
        [python, "-m", "pip", "install", "-qq", *links, str(wheel)],
    )
    for step in steps:
        done = subprocess.run(
            step, capture_output=True, text=True, timeout=HANG_S, check=False, env=no_compiler
        )
        assert done.returncode == 0, done.stderr
    assert f"({expected_kind()} hot path" in version((python, "-P", "-m", "stratakv"), no_compiler)
    assert_serves(tmp_path / "data", python)


def assert_serves(directory: Path, python: str) -> None:
    server = StrataServer(directory, python=python).start()
    with server.client() as client:
        assert client.send("SET", "k", "v").raw == b"+OK\r\n"
        assert client.send("INCRBY", "n", "41").raw == b":41\r\n"
        assert client.send("RPUSH", "l", "a", "b").raw == b":2\r\n"
        assert client.send("ZADD", "z", "1", "a", "2", "b").raw == b":2\r\n"
        assert client.send("EVAL", "return redis.call('GET', KEYS[1])", "1", "k").raw == (
            b"$1\r\nv\r\n"
        )
    server.restart()
    with server.client() as client:
        assert client.send("LRANGE", "l", "0", "-1").raw == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
    assert server.terminate() == 0
