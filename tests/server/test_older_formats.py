"""A database of an older program is opened, read in full, written to, and passes the check.

tests/data/layout1 was made by the program as it was before strings had pieces: every type and
encode-version that needs no Redis, several databases, an expire-time in the year 2200.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import ROOT, STRATAKV, StrataServer
from tests.harness.wire import Arg, WireClient

LATER_MS = 7258118400000
LARGE = b"0123456789abcdef" * 8192
FLEETING = b"fedcba9876543210" * 5000
BITMAP = bytes(70000) + b"\x01"

Call = tuple[Arg, ...]
READS: list[tuple[Call, object]] = [
    (("GET", "greeting"), b"hello, disk"),
    (("INCR", "number"), -41),
    (("GET", "empty"), b""),
    (("GET", "fleeting"), b"gone in 2200"),
    (("PEXPIRETIME", "fleeting"), LATER_MS),
    (("GET", "large"), LARGE),
    (("STRLEN", "large"), len(LARGE)),
    (("GETRANGE", "large", 65530, 65541), LARGE[65530:65542]),
    (("GET", "large:fleeting"), FLEETING),
    (("PEXPIRETIME", "large:fleeting"), LATER_MS),
    (("GET", "bitmap"), BITMAP),
    (("BITPOS", "bitmap", 1), 8 * 70000 + 7),
    (("PFCOUNT", "visitors"), 50),
    *[(("HGET", f"hash:{version}", "name"), b"Ada") for version in (0, 1, 4, 5)],
    *[(("HLEN", f"hash:{version}"), 2) for version in (0, 1, 4, 5)],
    (("HPEXPIRETIME", "hash:4", "FIELDS", 2, "born", "name"), [LATER_MS, -1]),
    (("HPEXPIRETIME", "hash:5", "FIELDS", 2, "born", "name"), [LATER_MS, -1]),
    *[(("SMEMBERS", f"set:{version}"), [b"blue", b"green", b"red"]) for version in (0, 1)],
    (("ZRANGE", "zset:0", 0, -1), [b"bob", b"alice", b"carol"]),
    (("ZSCORE", "zset:0", "bob"), b"-1.5"),
    (("LRANGE", "list", 0, -1), [b"a", b"b", b"c"]),
    (("XLEN", "stream"), 2),
    (("XPENDING", "stream", "team"), [1, b"1-1", b"1-1", [[b"ada", b"1"]]]),
    (("ZCARD", "places"), 1),
    (("FCALL", "answer", 0), 42),
    (("DBSIZE",), 18),
]
ELSEWHERE = [(3, "elsewhere", b"3"), (6, "swapped", b"was in 5"), (7, "after", b"flush")]


def plain(client: WireClient, *call: Arg) -> object:
    """A reply as bytes, numbers and lists."""

    def taken(frame: object) -> object:
        items = getattr(frame, "items", None)
        number = getattr(frame, "number", None)
        if items is not None:
            return [taken(item) for item in items]
        return number if number is not None else getattr(frame, "data", None)

    return taken(client.send(*call).frame)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    shutil.copytree(ROOT / "tests" / "data" / "layout1", tmp_path / "db")
    running = StrataServer(tmp_path / "db").start()
    yield running
    running.stop()


def test_everything_is_read_back(server: StrataServer) -> None:
    with server.client() as client:
        for call, expected in READS:
            assert plain(client, *call) == expected, call
        for database, key, value in ELSEWHERE:
            client.send("SELECT", database)
            assert plain(client, "GET", key) == value


def test_large_strings_go_into_pieces_when_they_are_written(server: StrataServer) -> None:
    with server.client() as client:
        assert _is_in_pieces(client, "large") is False
        assert plain(client, "APPEND", "large", "!") == len(LARGE) + 1
        assert plain(client, "PERSIST", "large:fleeting") == 1
        assert plain(client, "SETBIT", "bitmap", 0, 1) == 0
        for key in ("large", "large:fleeting", "bitmap"):
            assert _is_in_pieces(client, key)
        assert plain(client, "GET", "large") == LARGE + b"!"
        assert plain(client, "GET", "large:fleeting") == FLEETING
        assert plain(client, "GET", "bitmap") == b"\x80" + BITMAP[1:]
    assert server.terminate() == 0
    checked = subprocess.run(
        [*STRATAKV, "check", str(server.dir)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def _is_in_pieces(client: WireClient, key: str) -> bool:
    lines = client.send("STRATA", "INSPECT", key).frame.blobs()
    return any(b"in pieces" in line for line in lines)
