"""scripts/prepare on machines that lack something, each made of stand-ins on the PATH."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.servers import ROOT
from tests.harness.waiting import HANG_S

PYTHON = """
case "$*" in
*"sys.exit"*) exit {is_too_old} ;;
*print*sys.version*) echo {version} ;;
*ensurepip*) test -e {home}/installed ;;
*venv*) mkdir -p {home}/venv/bin && cp {home}/bin/venv-python {home}/venv/bin/python ;;
esac
"""
VENV_PYTHON = """
case "$*" in
*sysconfig*) echo /nowhere ;;
*"pip install"*) echo "pip $*" >> {home}/log
  case "$*" in *--only-binary*) {wheels} ;; esac ;;
*"pip wheel"*) echo "compile=${{STRATAKV_COMPILE:-}} $*" >> {home}/log
  mkdir -p {home}/venv/wheels
  case "$*" in
  *"--no-binary plyvel"*) touch {home}/venv/wheels/plyvel-1.whl ;;
  *) {build}
    touch {home}/venv/wheels/stratakv-1.whl
    printf '#!/bin/sh\necho stratakv 1\n' > {home}/venv/bin/stratakv
    chmod +x {home}/venv/bin/stratakv ;;
  esac ;;
esac
"""
NO_WHEEL = "echo 'ERROR: No matching distribution found for plyvel>=1.5.1' >&2; exit 1"
NO_PINNED_WHEEL = "echo 'ERROR: ResolutionImpossible: for help visit' >&2; exit 1"
NO_NETWORK = "echo 'ERROR: the network is down' >&2; exit 1"


@dataclass(frozen=True)
class Machine:
    """Its programs are stand-ins that note what they were asked to do."""

    home: Path

    def put(self, name: str, script: str) -> None:
        file = self.home / "bin" / name
        file.write_text("#!/bin/sh\n" + script)
        file.chmod(0o755)

    def prepare(
        self, *words: str, pins: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        path = f"{self.home}/bin:{os.environ['PATH']}"
        return subprocess.run(
            [ROOT / "scripts" / "prepare", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_S,
            env={
                "PATH": path,
                "HOME": str(self.home),
                "CXX": "no-compiler",
                "PINS": pins,
                **variables,
            },
        )

    def installed(self) -> list[str]:
        log = self.home / "log"
        return log.read_text().splitlines() if log.exists() else []


def machine_of(
    home: Path,
    *,
    is_root: bool = True,
    version: str = "3.13",
    wheels: str = "true",
    build: str = "true",
) -> Machine:
    (home / "bin").mkdir()
    machine = Machine(home)
    is_too_old = int(version == "3.10")
    machine.put("python3", PYTHON.format(home=home, version=version, is_too_old=is_too_old))
    machine.put("venv-python", VENV_PYTHON.format(home=home, wheels=wheels, build=build))
    machine.put("id", f"echo {0 if is_root else 1000}")
    machine.put("sudo", "exit 1")
    machine.put(
        "apt-get",
        f'case "$*" in install*) touch {home}/installed; echo "apt $*" >> {home}/log ;; esac',
    )
    return machine


def packages(machine: Machine) -> list[list[str]]:
    """What apt-get was asked for, call by call."""
    calls = [line.split() for line in machine.installed() if line.startswith("apt ")]
    return [[word for word in call[2:] if not word.startswith("-")] for call in calls]


def test_what_is_missing_is_installed_and_told_in_a_line(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    done = machine.prepare("python", str(tmp_path / "venv"), "--editable", ".")
    assert (done.returncode, done.stderr) == (0, "")
    assert packages(machine) == [["python3.13-venv"]]
    assert done.stdout.splitlines() == [
        "python3 cannot make virtual environments: installing python3.13-venv with apt-get",
        f"making a virtual environment in {tmp_path}/venv",
        "installing the libraries",
    ]
    assert machine.installed()[-1].endswith("--only-binary :all: --editable .")


def test_a_compiler_comes_only_where_there_is_no_wheel(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, wheels=NO_WHEEL)
    done = machine.prepare("python", str(tmp_path / "venv"), ".")
    assert (done.returncode, done.stderr) == (0, "")
    assert packages(machine)[1:] == [["g++", "libleveldb-dev", "python3.13-dev"]]
    assert "plyvel has no wheel for Python 3.13: installing g++" in done.stdout
    assert "compiling plyvel" in done.stdout
    assert machine.installed()[-1].endswith("--prefer-binary .")


def test_another_failure_of_pip_is_shown_and_installs_no_compiler(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, wheels=NO_NETWORK)
    done = machine.prepare("python", str(tmp_path / "venv"), ".")
    assert (done.returncode, done.stderr) == (1, "ERROR: the network is down\n")
    assert packages(machine) == [["python3.13-venv"]]


def test_the_versions_of_a_file_are_taken(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    done = machine.prepare("python", str(tmp_path / "venv"), ".", pins="constraints.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.installed()[-1].endswith("--constraint constraints.txt --only-binary :all: .")


def test_one_of_them_that_has_no_wheel_is_compiled(tmp_path: Path) -> None:
    """pip does not say which it is."""
    machine = machine_of(tmp_path, wheels=NO_PINNED_WHEEL)
    done = machine.prepare("python", str(tmp_path / "venv"), ".", pins="constraints.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.installed()[-1].endswith("--constraint constraints.txt --prefer-binary .")


def test_where_they_cannot_be_had_others_are(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, wheels=NO_WHEEL)
    only_other_versions = "case $* in *--constraint*--prefer-binary*) exit 1 ;; esac\n"
    given = (tmp_path / "bin" / "venv-python").read_text()
    machine.put("venv-python", given + only_other_versions)
    done = machine.prepare("python", str(tmp_path / "venv"), ".", pins="constraints.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert "not every version of constraints.txt can be had for Python 3.13" in done.stdout
    assert machine.installed()[-1].endswith("install -qq --prefer-binary .")


@pytest.mark.parametrize(
    ("version", "words", "told"),
    [
        ("3.10", ("python", "venv", "."), "StrataKV needs Python 3.11 or newer, python3 is 3.10"),
        ("3.13", ("python", "venv", "."), "sudo apt-get install python3.13-venv"),
        ("3.13", ("programs", "no-such=its-package"), "sudo apt-get install its-package"),
    ],
)
def test_what_may_not_be_installed_is_named_in_one_line(
    tmp_path: Path, version: str, words: tuple[str, ...], told: str
) -> None:
    machine = machine_of(tmp_path, is_root=False, version=version)
    done = machine.prepare(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert machine.installed() == []


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    done = machine.prepare("programs", "sh", "env=coreutils")
    assert (done.returncode, done.stdout, machine.installed()) == (0, "", [])


# the server

PLAIN = "echo '  stratakv: plain build: no C compiler; STRATAKV_COMPILE=0 asks'"
REFUSED = "echo '  StrataKV cannot be compiled: no C compiler'; exit 1"


def with_compiler(home: Path) -> Machine:
    """A machine that has all that compiling needs."""
    machine = machine_of(home)
    (home / "installed").touch()
    (home / "Python.h").touch()
    machine.put("venv-python", VENV_PYTHON.format(home=home, wheels="true", build="true"))
    given = (home / "bin" / "venv-python").read_text().replace("echo /nowhere", f"echo {home}")
    (home / "bin" / "venv-python").write_text(given)
    machine.put("g++", "true")
    return machine


def built(machine: Machine) -> list[str]:
    """The wheels that were asked for, by the last words of the call."""
    lines = [line for line in machine.installed() if " pip wheel " in line]
    return sorted(line.rpartition("wheels ")[2] for line in lines)


def test_the_server_is_compiled_and_so_is_its_leveldb(tmp_path: Path) -> None:
    machine = with_compiler(tmp_path)
    done = machine.prepare("server", str(tmp_path / "venv"), CXX="g++")
    assert (done.returncode, done.stderr) == (0, "")
    assert built(machine) == ["-qq --no-binary plyvel plyvel", "-v ."]
    assert packages(machine) == []
    assert done.stdout.splitlines()[-1] == "stratakv 1"
    assert machine.installed()[-1].endswith(
        f"--only-binary :all: {tmp_path}/venv/wheels/stratakv-1.whl"
    )


def test_what_the_fast_build_lacks_is_installed_where_it_may(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    done = machine.prepare("server", str(tmp_path / "venv"))
    assert done.returncode == 0
    assert packages(machine)[1:] == [["g++", "libleveldb-dev", "python3.13-dev"]]
    assert "for the fast build: installing g++ libleveldb-dev python3.13-dev" in done.stdout


def test_where_it_may_not_the_build_is_plain_and_two_lines_say_so(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, is_root=False, build=PLAIN)
    (tmp_path / "installed").touch()
    done = machine.prepare("server", str(tmp_path / "venv"))
    assert done.returncode == 0
    wanted = "sudo apt-get install g++ libleveldb-dev python3.13-dev"
    assert done.stderr == f"for the fast build: please run  {wanted}\n"
    assert "plain build: no C compiler; STRATAKV_COMPILE=0 asks\n" in done.stdout
    assert built(machine) == ["-v ."]


def test_who_insists_on_the_fast_build_is_refused_in_a_line(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, is_root=False, build=REFUSED)
    (tmp_path / "installed").touch()
    done = machine.prepare("server", str(tmp_path / "venv"), STRATAKV_COMPILE="1")
    assert done.returncode == 1
    assert "StrataKV cannot be compiled: no C compiler" in done.stderr
    assert not any("pip install" in line for line in machine.installed())


def test_who_wants_the_plain_build_needs_no_compiler(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    done = machine.prepare("server", str(tmp_path / "venv"), STRATAKV_COMPILE="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert packages(machine) == [["python3.13-venv"]]
    assert built(machine) == ["-v ."]
    assert any(line.startswith("compile=0 ") for line in machine.installed())


# the oracle

UNPACK = """
mkdir -p $3/usr/bin $3/usr/lib/x86_64-linux-gnu
echo 'echo "Redis server v=7.0.15 sha=0"' > $3/usr/bin/redis-server
chmod +x $3/usr/bin/redis-server
"""


def with_redis(home: Path, version: str, apt: str = "touch redis-server.deb") -> Machine:
    machine = machine_of(home)
    for name in ("redis-server", "redis-cli", "openssl"):
        machine.put(name, f'echo "Redis server v={version} sha=0"')
    answers = f"*download*) {apt} ;; *indextargets*) echo file:///mirror/ ;;"
    machine.put("apt-get", f'echo "apt $*" >> {home}/log\ncase "$*" in {answers} esac')
    machine.put("dpkg-deb", UNPACK)
    return machine


def test_another_redis_is_replaced_for_the_tests_alone(tmp_path: Path) -> None:
    machine = with_redis(tmp_path, "8.0.2")
    place = tmp_path / "oracle"
    done = machine.prepare("oracle", str(place))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    shown = subprocess.run([place / "bin" / "redis-server"], capture_output=True, text=True)
    assert " v=7.0.15 " in shown.stdout
    assert not any(" install " in line for line in machine.installed())
    again = machine.prepare("oracle", str(place))
    assert (again.returncode, again.stdout) == (0, "")


def test_redis_7_0_is_taken_as_it_is(tmp_path: Path) -> None:
    machine = with_redis(tmp_path, "7.0.15")
    done = machine.prepare("oracle", str(tmp_path / "oracle"))
    assert (done.returncode, done.stdout, machine.installed()) == (0, "", [])
    assert not (tmp_path / "oracle").exists()


def test_without_an_oracle_the_tests_go_on_and_it_is_told(tmp_path: Path) -> None:
    machine = with_redis(tmp_path, "8.0.2", apt="echo 'E: no such package' >&2; exit 100")
    done = machine.prepare("oracle", str(tmp_path / "oracle"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("no Redis 7.0: the tests that compare with it are skipped\n")
    assert not (tmp_path / "oracle").exists()


def test_an_hbase_is_fetched_once(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    machine.put("java", "true")
    machine.put("mvn", f'echo "mvn $*" >> {tmp_path}/log')
    for _ in range(2):
        done = machine.prepare("hbase", str(tmp_path))
        assert (done.returncode, done.stderr) == (0, "")
    (call,) = machine.installed()
    assert f"-DoutputDirectory={tmp_path}/lib" in call


def test_an_hbase_that_did_not_arrive_is_fetched_again(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    machine.put("java", "true")
    machine.put("mvn", f'echo "mvn" >> {tmp_path}/log; exit 1')
    for _ in range(2):
        done = machine.prepare("hbase", str(tmp_path))
        assert (done.returncode, done.stderr) == (1, "Maven could not fetch HBase\n")
    assert machine.installed() == ["mvn", "mvn"]
