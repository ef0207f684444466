"""kill -9 at random moments: what was acknowledged is there, and the store is in order."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check import check_directory
from tests.crash.ledger import Ledger, Model, read_back
from tests.harness.effort import rounds
from tests.harness.servers import STRATAKV, StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient, encode

KILLS = rounds(20)
WRITERS = 3
SEED = int(os.environ.get("STRATAKV_TEST_CRASH_SEED") or random.SystemRandom().randrange(2**32))

HARMLESS = {
    'error "ERR no such key"',
    'error "ERR source and destination objects are the same"',
}
"""What RENAMENX and COPY answer where the model, too, does nothing."""


def difference(found: Model, ledger: Ledger) -> str:
    """Where the store and the acknowledged state part, for the failure's message."""
    keys = sorted(key for key in {*found, *ledger.model} if found.get(key) != ledger.model.get(key))
    lines = [
        f"{key!r}: store {found.get(key)!r:.200}, acknowledged {ledger.model.get(key)!r:.200}"
        for key in keys[:10]
    ]
    under_way = [[command[:4] for command in step.commands] for step in ledger.under_way]
    return "\n".join([*lines, f"under way: {under_way}"])


def write_and_kill(server: StrataServer, ledgers: list[Ledger], after_s: float) -> None:
    stop = threading.Event()
    threads = [
        threading.Thread(target=ledger.write_until_cut, args=(server.port, stop))
        for ledger in ledgers
    ]
    for thread in threads:
        thread.start()
    time.sleep(after_s)
    server.kill9()
    stop.set()
    for thread in threads:
        thread.join()


def knows(server: StrataServer, name: str) -> bool:
    with server.client() as client:
        return "unknown command" not in str(client.send(name))


@pytest.mark.effort
def test_acknowledged_writes_survive_and_the_store_is_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed at random moments; a small write buffer makes compactions part of the game."""
    dice = random.Random(SEED)
    flags = ["--write-buffer-bytes", "256kb"]
    server = StrataServer(tmp_path / "data", flags=flags).start()
    flush = knows(server, "FLUSHDB")
    ledgers = [Ledger(dice.getrandbits(32), number, flush) for number in range(WRITERS)]
    try:
        for kill in range(KILLS):
            write_and_kill(server, ledgers, dice.uniform(0.01, 0.35))
            assert check_directory(server.dir) == 0, (
                f"seed {SEED}, kill {kill}:\n{capsys.readouterr().out}"
            )
            server.start()
            with server.client() as client:
                for ledger in ledgers:
                    found = read_back(client, ledger.database)
                    assert ledger.settle(found), (
                        f"STRATAKV_TEST_CRASH_SEED={SEED}, kill {kill}, "
                        f"database {ledger.database}:\n{difference(found, ledger)}"
                    )
    finally:
        server.stop()
    assert {line for ledger in ledgers for line in ledger.refused} <= HARMLESS
    assert min(ledger.acknowledged for ledger in ledgers) > KILLS
    assert "Traceback" not in server.output()


def test_the_check_is_a_command_and_refuses_a_store_in_use(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        client.send("HSET", "h", "f", "v")
    check = [*STRATAKV, "check", str(server.dir)]
    busy = subprocess.run(check, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert busy.returncode != 0
    assert "in use" in busy.stderr
    assert busy.stderr.count("\n") == 1
    server.kill9()
    closed = subprocess.run(check, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")
    assert "1 keys" in closed.stdout


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.2])
def test_sigterm_finishes_what_runs_and_loses_nothing_acknowledged(
    tmp_path: Path, after_s: float
) -> None:
    server = StrataServer(tmp_path / "data").start()
    acknowledged: list[int] = []

    def write() -> None:
        try:
            with WireClient(server.port) as client:
                for start in range(0, 1_000_000, 500):
                    numbers = range(start, start + 500)
                    commands = [("SET", f"key{number}", number) for number in numbers]
                    client.write(b"".join(encode(*command) for command in commands))
                    for number in numbers:
                        assert client.read().raw == b"+OK\r\n"
                        acknowledged.append(number)
        except OSError:
            return

    writer = threading.Thread(target=write)
    writer.start()
    wait_until(lambda: acknowledged)
    time.sleep(after_s)
    assert server.terminate() == 0, server.output()
    writer.join()
    assert check_directory(server.dir) == 0
    server.start()
    with server.client() as client:
        replies = client.pipeline([("GET", f"key{number}") for number in acknowledged])
    assert [reply.frame.data for reply in replies] == [b"%d" % number for number in acknowledged]
    server.stop()
    assert "Traceback" not in server.output()


def test_sigterm_lets_a_long_command_end(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        for start in range(0, 60_000, 1000):
            client.send("SADD", "big", *range(start, start + 1000))
        client.write(encode("SUNIONSTORE", "copy", "big"))
        server.wait_until_asked("sunionstore")
        assert server.terminate() == 0, server.output()
        assert client.read().frame.number == 60_000
    assert check_directory(server.dir) == 0
    server.start()
    with server.client() as client:
        assert client.send("SCARD", "copy").frame.number == 60_000
    server.stop()


def test_sigterm_sends_the_replies_of_what_was_done(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        client.send("SET", "big", "x" * 1_000_000)
        client.write(encode("GET", "big") * 30)
        with server.client() as other:
            done = b"cmdstat_get:calls=30,"
            wait_until(lambda: done in other.send("INFO", "commandstats").raw)
        assert server.process is not None
        server.process.terminate()
        time.sleep(0.3)
        assert len(client.read_to_end()) == 30 * len(b"$1000000\r\n" + b"x" * 1_000_000 + b"\r\n")
    assert server.process.wait(HANG_S) == 0


def test_sigterm_does_not_wait_for_who_waits_for_others(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as blocked, server.client() as paused:
        blocked.write(encode("BLPOP", "nothing", 0) + encode("PING"))
        paused.send("CLIENT", "PAUSE", 100_000)
        paused.write(encode("SET", "k", "v"))
        time.sleep(0.1)
        assert server.terminate() == 0
