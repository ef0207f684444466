"""Three real redis-sentinels watch over a master and two replicas, and fail over.

A ledger counts the writes that WAIT 1 has acknowledged: none of them is lost, whether the master is
killed or hangs, and the old master comes back as a replica.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.sentinel import MasterNotFoundError, Sentinel

from tests.harness.servers import StrataServer, free_port
from tests.harness.waiting import wait_until
from tests.harness.watchdog import mind
from tests.replication.fleet import contents, follow, info

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no redis-server"),
]
CONFIG = """
port {port}
bind 127.0.0.1
dir {dir}
sentinel monitor ours 127.0.0.1 {master} 2
sentinel down-after-milliseconds ours 1000
sentinel failover-timeout ours 5000
sentinel parallel-syncs ours 2
"""


def master_port(sentinel: Sentinel) -> int:
    """Where the sentinels say that the master is."""
    return int(sentinel.discover_master("ours")[1])  # type: ignore[no-untyped-call]


class Ledger:
    """Appends numbers through whoever is the master, and knows which were acknowledged."""

    def __init__(self, sentinel: Sentinel) -> None:
        self._sentinel = sentinel
        self._stopped = threading.Event()
        self.acknowledged: list[int] = []
        self.masters: set[int] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stopped.is_set():
            number += 1
            try:
                port = master_port(self._sentinel)
                with redis.Redis(port=port, socket_timeout=1) as client:
                    self._write(client, port, number)
            except (redis.RedisError, MasterNotFoundError, OSError):
                time.sleep(0.05)

    def _write(self, client: redis.Redis, port: int, number: int) -> None:
        for number_ in range(number * 1000, number * 1000 + 1000):
            if self._stopped.is_set():
                return
            client.sadd("ledger", number_)
            if client.wait(1, 500) >= 1:
                self.acknowledged.append(number_)
                self.masters.add(port)


class Fleet:
    """The servers, and the sentinels that watch them."""

    def __init__(self, place: Path) -> None:
        self.servers = [self._server(place / name) for name in ("one", "two", "three")]
        for replica in self.servers[1:]:
            follow(replica, self.servers[0])
        self._sentinels = [self._start_sentinel(place, number) for number in range(3)]
        places = [("127.0.0.1", port) for _, port in self._sentinels]
        self.sentinel = Sentinel(places, socket_timeout=1)  # type: ignore[no-untyped-call]
        wait_until(self._is_watched, "the sentinels never found each other and the replicas")

    def _server(self, directory: Path) -> StrataServer:
        file = directory.with_suffix(".toml")
        file.write_text("")
        flags = ("--config", str(file), "--port", str(free_port()))
        return StrataServer(directory, flags=flags).start()

    def _start_sentinel(self, place: Path, number: int) -> tuple[subprocess.Popen[bytes], int]:
        port = free_port()
        home = place / f"sentinel{number}"
        home.mkdir()
        file = home / "sentinel.conf"
        file.write_text(CONFIG.format(port=port, dir=home, master=self.servers[0].port))
        with (home / "log").open("wb") as log:
            # the same program as redis-sentinel, which is a package of its own
            argv = ["redis-server", str(file), "--sentinel"]
            process = subprocess.Popen(argv, stdout=log, stderr=log)
        mind(process.pid)
        return process, port

    def _is_watched(self) -> bool:
        try:
            for _, port in self._sentinels:
                with redis.Redis(port=port) as client:
                    told = client.sentinel_master("ours")
                    if told["num-slaves"] != 2 or told["num-other-sentinels"] != 2:
                        return False
        except redis.RedisError:
            return False
        return True

    def master_port(self) -> int:
        try:
            return master_port(self.sentinel)
        except (redis.RedisError, MasterNotFoundError):
            return 0

    def close(self) -> None:
        for process, _ in self._sentinels:
            process.kill()
            process.wait()
        for server in self.servers:
            server.stop()


def follows(replica: StrataServer, master: StrataServer) -> bool:
    """Whether one follows the other by now; sentinels cut clients of who changes places."""
    try:
        with replica.client() as client:
            told = info(client)
    except OSError:
        return False
    return told.get("master_port") == str(master.port) and told["master_link_status"] == "up"


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    found = Fleet(tmp_path)
    yield found
    found.close()


@pytest.mark.parametrize("fate", ["killed", "stopped"])
def test_no_write_that_a_replica_has_is_lost_when_the_master_is(fate: str, fleet: Fleet) -> None:
    old = fleet.servers[0]
    ledger = Ledger(fleet.sentinel)
    wait_until(lambda: len(ledger.acknowledged) > 50)
    if fate == "killed":
        old.kill9()
    else:
        assert old.process is not None
        old.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: fleet.master_port() not in (0, old.port), "there is no other master")
    before = len(ledger.acknowledged)
    wait_until(lambda: len(ledger.acknowledged) > before + 50, "the new master takes no writes")
    if fate == "killed":
        old.start()
    else:
        assert old.process is not None
        old.process.send_signal(signal.SIGCONT)
    new = next(one for one in fleet.servers if one.port == fleet.master_port())
    wait_until(lambda: follows(old, new), old.output)
    ledger.stop()
    assert ledger.masters == {old.port, new.port}
    with new.client() as leader, old.client() as returned:
        members = {int(one) for one in leader.send("SMEMBERS", "ledger").frame.blobs()}
        assert not set(ledger.acknowledged) - members
        wait_until(lambda: contents(returned) == contents(leader))
    assert f'replicaof = "127.0.0.1 {new.port}"' in old.dir.with_suffix(".toml").read_text()
