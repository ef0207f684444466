"""A server on a real HBase: killed, stopped, without its HBase, and asked for too much."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check_table import check_table
from tests.crash.ledger import Ledger, read_back
from tests.crash.test_kill9 import HARMLESS, difference, write_and_kill
from tests.harness.effort import rounds
from tests.harness.hbase import HBaseServer
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.hbase.conftest import start_hbase

pytestmark = [pytest.mark.hbase]

_tables = count()


@pytest.fixture
def table() -> str:
    return f"server{next(_tables)}"


@pytest.fixture
def server(hbase_server: HBaseServer, table: str, tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "data", flags=hbase_server.flags(table)).start()
    yield started
    started.stop()


def check(hbase: HBaseServer, table: str) -> None:
    """Every invariant of the stored rows holds; pytest shows what is printed of others."""
    assert check_table(hbase.address, table) == 0


def settle(server: StrataServer, ledgers: list[Ledger]) -> None:
    """What was acknowledged is there, and of what was under way whole steps."""
    with server.client() as client:
        for ledger in ledgers:
            wait_until(partial(rests, client, ledger.database))
            found = read_back(client, ledger.database)
            assert ledger.settle(found), f"seed {ledger.seed}: {difference(found, ledger)}"


def rests(client: WireClient, database: int) -> bool:
    """Whether what is fleeting is due, and what is due is deleted: DBSIZE counts it until then."""
    client.send("SELECT", database)
    keys = client.send("KEYS", "*").frame.blobs()
    is_settled = not any(key.startswith(b"fleeting") for key in keys)
    return is_settled and client.send("DBSIZE").frame.number == len(keys)


def text(client: WireClient, *words: str | bytes) -> str:
    """What is in a reply, or that there is nothing."""
    frame = client.send(*words).frame
    return "nothing" if frame.is_null else (frame.data or b"").decode()


@pytest.mark.effort
def test_acknowledged_writes_survive_kill_9(
    hbase_server: HBaseServer, server: StrataServer, table: str
) -> None:
    dice = random.Random()
    ledgers = [Ledger(dice.getrandbits(32), number, with_flush=True) for number in range(3)]
    for _ in range(rounds(20, least=2)):
        write_and_kill(server, ledgers, dice.uniform(0.3, 1.5))
        check(hbase_server, table)
        server.start()
        settle(server, ledgers)
    server.stop()
    check(hbase_server, table)
    assert {line for ledger in ledgers for line in ledger.refused} <= HARMLESS
    assert min(ledger.acknowledged for ledger in ledgers) > 10


@pytest.mark.effort
def test_an_hbase_that_is_killed_under_load_loses_nothing(tmp_path: Path) -> None:
    hbase = start_hbase(tmp_path)
    server = StrataServer(tmp_path / "data", flags=hbase.flags()).start()
    ledgers = [Ledger(random.getrandbits(32), number, with_flush=False) for number in range(2)]
    stop = threading.Event()
    threads: list[threading.Thread] = []
    try:
        for _ in range(rounds(10, least=2)):
            threads = writing(server, ledgers, stop)
            hbase.kill9()
            hbase.start()
            for thread, ledger in zip(threads, ledgers, strict=True):
                wait_until(partial(is_cut_or_goes_on, thread, ledger, ledger.acknowledged))
            stop.set()
            for thread in threads:
                thread.join()
            wait_until(lambda: is_writable(server))
            settle(server, ledgers)
            check(hbase, "stratakv")
            stop.clear()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        server.stop()
        hbase.stop()


def writing(
    server: StrataServer, ledgers: list[Ledger], stop: threading.Event
) -> list[threading.Thread]:
    """A thread for each ledger, once each has written something."""
    before = [ledger.acknowledged for ledger in ledgers]
    threads = [
        threading.Thread(target=ledger.write_until_cut, args=(server.port, stop))
        for ledger in ledgers
    ]
    for thread in threads:
        thread.start()
    wait_until(
        lambda: all(one.acknowledged > was + 20 for one, was in zip(ledgers, before, strict=True))
    )
    return threads


def is_cut_or_goes_on(thread: threading.Thread, ledger: Ledger, was: int) -> bool:
    """Who waits for a commit whose outcome is not known is cut, and that may be one of them."""
    return not thread.is_alive() or ledger.acknowledged > was + 20


def answers(server: StrataServer, *words: str) -> str:
    """The reply, or nothing if the connection is cut."""
    with suppress(OSError), server.client() as client:
        return text(client, *words)
    return ""


def is_writable(server: StrataServer) -> bool:
    return answers(server, "SETRANGE", "nothing", "0", "") == "0"


def test_a_server_that_was_stopped_tells_nothing_of_what_was_before(
    hbase_server: HBaseServer, server: StrataServer, table: str, tmp_path: Path
) -> None:
    with server.client() as client:
        client.send("SET", "key", "old")
        assert text(client, "GET", "key") == "old"
        os.kill(server.pid, signal.SIGSTOP)
        try:
            other = StrataServer(tmp_path / "other", flags=hbase_server.flags(table)).start()
            with other.client() as second:
                assert text(second, "GET", "key") == "old"
                second.send("SET", "key", "new")
        finally:
            os.kill(server.pid, signal.SIGCONT)
        heard = []
        with suppress(OSError, EOFError):
            heard = [text(client, "GET", "key") for _ in range(3)]
        assert all("MISCONF" in line for line in heard), heard
    wait_until(lambda: "belongs to" in server.output())
    wait_until(lambda: answers(server, "GET", "key"))  # until then it cuts whoever is there
    with server.client() as client:
        assert "MISCONF" in text(client, "GET", "key")
        assert "MISCONF" in text(client, "SET", "key", "mine")
        assert text(client, "PING") == "PONG"
    with other.client() as second:
        assert text(second, "GET", "key") == "new"
    other.stop()


def test_everything_is_read_again_after_a_restart(server: StrataServer) -> None:
    with server.client() as client:
        client.send("SET", "string", "x" * 100_000)
        client.send("HSET", "hash", *(word for n in range(300) for word in (f"f{n}", f"v{n}")))
        client.send("SADD", "set", *(f"m{n}" for n in range(3000)))
        client.send("ZADD", "zset", *(word for n in range(300) for word in (str(n), f"m{n}")))
        client.send("RPUSH", "list", *(f"e{n}" for n in range(300)))
        client.send("XADD", "stream", "1-1", "field", "value")
    assert server.terminate() == 0
    server.start()
    with server.client() as client:
        assert client.send("STRLEN", "string").frame.number == 100_000
        assert text(client, "GET", "string") == "x" * 100_000
        assert client.send("HLEN", "hash").frame.number == 300
        assert client.send("HMGET", "hash", "f7", "none", "f299").frame.blobs() == [
            b"v7",
            b"",
            b"v299",
        ]
        assert len(client.send("SMEMBERS", "set").frame.items or ()) == 3000
        assert client.send("ZRANGE", "zset", "10", "12").frame.blobs() == [b"m10", b"m11", b"m12"]
        assert client.send("ZRANK", "zset", "m200").frame.number == 200
        assert client.send("LRANGE", "list", "-2", "-1").frame.blobs() == [b"e298", b"e299"]
        assert len(client.send("XRANGE", "stream", "-", "+").frame.items or ()) == 1
        assert client.send("DBSIZE").frame.number == 6
        assert client.send("MGET", "string", "nothing").frame.blobs()[1] == b""


def test_what_is_too_large_is_refused_and_nothing_else(server: StrataServer) -> None:
    with server.client() as client:
        client.send("HSET", "hash", "field", "value")
        assert "with HBase at most" in text(client, "HSET", "hash", "big", b"x" * 11_000_000)
        assert "HBase takes at most" in text(client, "SET", b"k" * 40_000, "value")
        assert text(client, "GET", b"k" * 40_000) == "nothing"
        many = [word for n in range(12) for word in (f"f{n}", b"x" * 1_000_000)]
        assert "bytes of one command or transaction" in text(client, "HSET", "hash", *many)
        assert client.send("HLEN", "hash").frame.number == 1
        assert text(client, "SET", "large", b"y" * 20_000_000) == "OK"
        assert client.send("STRLEN", "large").frame.number == 20_000_000
        assert text(client, "SET", "key", "value") == "OK"


def test_what_hbase_cannot_do_says_so(server: StrataServer) -> None:
    with server.client() as client:
        assert "in HBase" in text(client, "STRATA", "BACKUP", "/tmp/none")
        assert "replication is not possible" in text(client, "REPLICAOF", "127.0.0.1", "1")
        assert "replication is not possible" in text(client, "PSYNC", "?", "-1")
