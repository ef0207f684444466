"""redis-cli and redis-benchmark, as programs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.harness.servers import Process
from tests.harness.waiting import HANG_S
from tests.harness.wire import encode


@pytest.fixture(params=[[], ["-3"]], ids=["resp2", "resp3"])
def flags(request: pytest.FixtureRequest) -> list[str]:
    return list(request.param)


@pytest.fixture
def server(strata_server: Process) -> Iterator[Process]:
    with strata_server.client() as client:
        client.send("FLUSHALL")
        yield strata_server


def run(program: str, server: Process, *args: str, stdin: bytes = b"") -> str:
    """What the program prints; it must exit with 0."""
    done = subprocess.run(
        [program, "-p", str(server.port), *args],
        input=stdin,
        capture_output=True,
        timeout=HANG_S,
    )
    printed = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0, printed
    return printed


def cli(server: Process, *args: str, stdin: bytes = b"") -> str:
    return run("redis-cli", server, *args, stdin=stdin)


def fill(server: Process) -> None:
    with server.client() as client:
        client.pipeline([("SET", f"s:{i}", "x" * i) for i in range(200)])
        client.send("HSET", "hash", *[str(i) for i in range(100)])
        client.send("SADD", "set", *[str(i) for i in range(50)])
        client.send("ZADD", "zset", *[str(i) for i in range(60)])


def test_one_shot_commands(server: Process, flags: list[str]) -> None:
    assert cli(server, *flags, "SET", "k", "v") == "OK\n"
    assert cli(server, *flags, "GET", "k") == "v\n"
    assert cli(server, *flags, "INCR", "n") == "1\n"
    assert cli(server, *flags, "-n", "3", "DBSIZE") == "0\n"
    assert cli(server, *flags, "-x", "SET", "piped", stdin=b"from stdin") == "OK\n"
    assert cli(server, *flags, "--no-raw", "ZADD", "z", "1", "a") == "(integer) 1\n"
    assert "a" in cli(server, *flags, "--json", "ZRANGE", "z", "0", "-1")


def test_commands_from_standard_input(server: Process, flags: list[str]) -> None:
    script = b'SET k "a b"\nGET k\nHSET h f v\nHGETALL h\nNOSUCH x\nTYPE h\nSELECT 2\nDBSIZE\n'
    printed = cli(server, *flags, stdin=script).split("\n")
    assert printed[:3] == ["OK", "a b", "1"]
    assert "ERR unknown command 'NOSUCH', with args beginning with: 'x' " in printed
    assert printed[-4:-1] == ["hash", "OK", "0"]


def test_scan_finds_every_key(server: Process, flags: list[str]) -> None:
    fill(server)
    assert len(set(cli(server, *flags, "--scan").split())) == 203
    matched = cli(server, *flags, "--scan", "--pattern", "s:1*").split()
    assert len(matched) == len(set(matched)) == 111


def test_bigkeys_names_the_biggest_of_each_type(server: Process, flags: list[str]) -> None:
    fill(server)
    printed = cli(server, *flags, "--bigkeys")
    assert "Sampled 203 keys in the keyspace!" in printed
    assert "Biggest string found '\"s:199\"' has 199 bytes" in printed
    assert "Biggest   hash found '\"hash\"' has 50 fields" in printed
    assert "Biggest    set found '\"set\"' has 50 members" in printed
    assert "Biggest   zset found '\"zset\"' has 30 members" in printed


def test_memkeys_runs(server: Process, flags: list[str]) -> None:
    fill(server)
    assert "Sampled 203 keys in the keyspace!" in cli(server, *flags, "--memkeys")


def test_stat_prints_lines_until_it_is_stopped(server: Process, flags: list[str]) -> None:
    fill(server)
    argv = ["redis-cli", "-p", str(server.port), *flags, "--stat", "-i", "0.1"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().decode() for _ in range(6)]
    finally:
        process.terminate()
        process.wait(HANG_S)
    assert "keys" in lines[0] + lines[1]
    assert lines[-1].split()[0] == "203", lines


def test_pipe_inserts_in_mass(server: Process) -> None:
    data = b"".join(encode("SET", f"k{i}", f"v{i}") for i in range(20_000))
    printed = cli(server, "--pipe", stdin=data)
    assert "errors: 0, replies: 20000" in printed
    assert cli(server, "DBSIZE") == "20000\n"
    assert cli(server, "GET", "k19999") == "v19999\n"


def test_pipe_counts_errors(server: Process) -> None:
    data = b"".join([encode("SET", "k", "v"), encode("HGET", "k", "f"), encode("GET", "k")])
    done = subprocess.run(
        ["redis-cli", "-p", str(server.port), "--pipe"],
        input=data,
        capture_output=True,
        timeout=HANG_S,
    )
    assert b"errors: 1, replies: 3" in done.stdout


def test_latency_reports_milliseconds(server: Process) -> None:
    argv = ["redis-cli", "-p", str(server.port), "--latency", "--raw", "-i", "1"]
    done = subprocess.run(argv, capture_output=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[3]) > 0


@pytest.mark.parametrize("pipeline", [1, 16])
def test_benchmark_runs_without_errors(server: Process, pipeline: int) -> None:
    tests = "ping,set,get,incr,sadd,hset,spop,zadd,zpopmin,mset"
    printed = run(
        "redis-benchmark",
        server,
        "-t",
        tests,
        "-n",
        "2000",
        "-q",
        "-P",
        str(pipeline),
        "-r",
        "1000",
    )
    assert "rror" not in printed, printed
    assert "WARNING" not in printed, printed
    assert printed.count("requests per second") == 11, printed
