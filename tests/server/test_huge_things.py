"""Long strings and very many arguments over the wire: others are served, memory stays bounded."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode

MB = 1 << 20
SIZE = 48 * MB
VALUE = bytes(range(256)) * (SIZE // 256)
MANY = 20_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    running = StrataServer(tmp_path / "db", flags=["--write-buffer-bytes", "16mb"]).start()
    yield running
    running.stop()


def info(client: WireClient, name: str) -> int:
    text = (client.send("INFO", "everything").frame.data or b"").decode()
    found = re.search(rf"^{name}:(\d+)", text, re.MULTILINE)
    assert found is not None, name
    return int(found[1])


def anonymous_mb(server: StrataServer) -> float:
    status = Path(f"/proc/{server.pid}/status").read_text()
    found = re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


class Watched:
    """Runs a command in a thread; counts PINGs answered meanwhile, and notes the highest memory."""

    def __init__(self, server: StrataServer) -> None:
        self._server = server
        self.pings = 0
        self.highest_mb = 0.0
        self.reply = b""

    def run(self, *calls: tuple[Arg, ...]) -> bytes:
        data = b"".join(encode(*call) for call in calls)
        thread = threading.Thread(target=self._call, args=(data, len(calls)))
        self.pings, self.highest_mb = 0, 0.0
        with self._server.client() as other:
            thread.start()
            while thread.is_alive():
                assert other.send("PING").raw == b"+PONG\r\n"
                self.pings += 1
                self.highest_mb = max(self.highest_mb, anonymous_mb(self._server))
        thread.join()
        return self.reply

    def _call(self, data: bytes, replies: int) -> None:
        with WireClient(self._server.port, 2) as client:
            client.write(data)
            for _ in range(replies):
                self.reply = client.read().raw


def test_a_long_string_is_written_read_and_deleted_beside_others(server: StrataServer) -> None:
    watched = Watched(server)
    before = anonymous_mb(server)
    with server.client() as client:
        assert watched.run(("SET", "long", VALUE)) == b"+OK\r\n"
        assert watched.pings > 3
        assert watched.highest_mb - before < 2 * 48 + 40  # write buffers and a batch besides
        held = anonymous_mb(server)  # LevelDB may not have written all of it to tables yet
        assert watched.run(("GET", "long")) == b"$%d\r\n%b\r\n" % (SIZE, VALUE)
        assert watched.pings > 3
        assert watched.highest_mb - held < 40
        assert watched.run(("RENAME", "long", "other")) == b"+OK\r\n"
        assert watched.highest_mb - before < 60
        written = info(client, "store_rows_written")
        assert client.send("EXPIRE", "other", 1000).frame.number == 1
        assert client.send("APPEND", "other", "tail").frame.number == SIZE + 4
        assert client.send("SETRANGE", "other", 9, "X").frame.number == SIZE + 4
        assert client.send("SETBIT", "other", 8 * SIZE - 1, 0).frame.number == 1
        assert client.send("GETRANGE", "other", 8, 10).frame.data == b"\x08X\x0a"
        assert client.send("GETRANGE", "other", -6, -1).frame.data == b"\xfe\xfetail"
        assert client.send("DEL", "other").frame.number == 1
        assert info(client, "store_rows_written") - written < 30 + SIZE // 65536 + 10
        wait_until(lambda: info(client, "store_disk_bytes") < 10 * MB)
        wait_until(lambda: anonymous_mb(server) - before < 48)


@pytest.mark.full
def test_a_bitmap_of_half_a_gigabyte_costs_what_is_set_in_it(server: StrataServer) -> None:
    watched = Watched(server)
    before = anonymous_mb(server)
    with server.client() as client:
        written = info(client, "store_rows_written")
        assert client.send("SETRANGE", "bar", 501970112, "test").frame.number == 501970116
        assert client.send("SETBIT", "bitmap", 512 * MB * 8 - 1, 1).frame.number == 0
        assert info(client, "store_rows_written") - written < 12
        assert client.send("STRLEN", "bitmap").frame.number == 512 * MB
        assert client.send("BITPOS", "bitmap", 0).frame.number == 0
        assert watched.run(("BITCOUNT", "bitmap")) == b":1\r\n"
        assert watched.run(("BITPOS", "bar", 1)) == b":%d\r\n" % (501970112 * 8 + 1)
        assert watched.highest_mb - before < 32
        assert client.send("DEL", "bar", "bitmap").frame.number == 2
        assert info(client, "store_disk_bytes") < 10 * MB
        assert anonymous_mb(server) - before < 32


def test_many_arguments_are_worked_off_beside_others(server: StrataServer) -> None:
    names = [f"name:{number}" for number in range(MANY)]
    pairs = [word for name in names for word in (name, "value")]
    watched = Watched(server)
    with server.client() as client:
        long_before = info(client, "long_commands")
        assert watched.run(("MSET", *pairs)) == b"+OK\r\n"
        assert watched.run(("EXISTS", *names)) == b":%d\r\n" % MANY
        assert client.send("DBSIZE").frame.number == MANY
        assert watched.run(("MGET", *names)) == b"*%d\r\n" % MANY + b"$5\r\nvalue\r\n" * MANY
        assert watched.run(("DEL", *names)) == b":%d\r\n" % MANY
        assert client.send("DBSIZE").frame.number == 0
        assert watched.run(("SADD", "set", *names)) == b":%d\r\n" % MANY
        increments = [("INCR", "n")] * MANY
        numbers = b"".join(b":%d\r\n" % number for number in range(1, MANY + 1))
        reply = watched.run(("MULTI",), *increments, ("EXEC",))
        assert reply == b"*%d\r\n" % MANY + numbers
        assert info(client, "long_commands") - long_before == 6


def test_watched_keys_and_waiting_clients_notice_what_many_arguments_did(
    server: StrataServer,
) -> None:
    names = [f"name:{number}" for number in range(MANY)]
    pairs = [word for name in names for word in (name, "value")]
    with server.client() as watcher, server.client() as waiter, server.client() as client:
        watcher.send("WATCH", names[-1])
        waiter.write(encode("BLPOP", "list", 0))
        wait_until(lambda: info(client, "blocked_clients") == 1)
        client.send("MSET", *pairs)
        client.send("RPUSH", "list", *names)
        assert waiter.read().frame.blobs() == [b"list", names[0].encode()]
        watcher.send("MULTI")
        watcher.send("GET", names[-1])
        assert watcher.send("EXEC").frame.is_null


def test_a_client_that_does_not_read_its_long_reply_holds_no_lock(server: StrataServer) -> None:
    with server.client() as client, WireClient(server.port, 2) as lazy:
        client.send("SET", "value", b"v" * 60_000)
        gets = encode("GET", "value") * 3000
        lazy.write(encode("MULTI") + encode("SET", "x", 1) + gets + encode("EXEC"))
        wait_until(lambda: client.send("GET", "x").frame.data == b"1")
        assert client.send("SET", "x", 2).raw == b"+OK\r\n"


def test_a_script_gets_a_long_string_whole(server: StrataServer) -> None:
    with server.client() as client:
        client.send("SET", "long", VALUE[: 3 * MB])
        script = "local v = redis.call('GET', KEYS[1]) return {#v, string.sub(v, -3)}"
        reply = client.send("EVAL", script, 1, "long").frame
        assert reply.items is not None
        assert (reply.items[0].number, reply.items[1].data) == (3 * MB, b"\xfd\xfe\xff")
        client.send("MULTI")
        for call in (("GET", "long"), ("SETRANGE", "long", 0, "new"), ("GETRANGE", "long", 0, 3)):
            client.send(*call)
        replies = client.send("EXEC").frame.items
        assert replies is not None
        assert replies[0].data == VALUE[: 3 * MB]
        assert replies[2].data == b"new\x03"
