"""Full disks: a replica keeps what it has until there is room, and is never told what was refused.

INCR and RPUSH tell whether a command of the stream was applied twice, or not at all.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.layout import rows
from stratakv.encodings.upkeep.check import check_directory
from stratakv.storage.leveldb.engine import open_existing
from tests.harness.disks import NO_LIMIT, limit_files
from tests.harness.effort import rounds
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient, encode
from tests.replication.fleet import contents, follow, info, wait_in_step
from tests.replication.test_kills import LARGE_BACKLOG, Writer

LIMIT = 300_000
VALUE = "x" * 10_000
KEYS = 60
MANY_KEYS = 2000
"""They are loaded in several batches, of which some have room."""


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[StrataServer]:
    server = StrataServer(tmp_path / "master", flags=LARGE_BACKLOG).start()
    yield server
    server.stop()


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[StrataServer]:
    server = StrataServer(tmp_path / "replica").start()
    yield server
    server.stop()


def fill(client: WireClient) -> None:
    """More than a full disk holds."""
    client.pipeline([("SET", f"key{number}", VALUE) for number in range(KEYS)])


def wait_until_down(client: WireClient) -> str:
    """Until the replica says that its store refuses writes; what it says of the link."""

    def told() -> str:
        error = info(client).get("master_link_error", "")
        return error if "refuses writes" in error else ""

    return wait_until(told, lambda: info(client))


def assert_equal(leader: StrataServer, follower: StrataServer) -> None:
    wait_in_step(leader, follower)
    with leader.client() as one, follower.client() as other:
        wait_until(lambda: contents(other) == contents(one), "the two differ")  # keys may expire
    follower.kill9()
    assert check_directory(follower.dir) == 0
    assert "Traceback" not in leader.output() + follower.output()


def log_size(server: StrataServer) -> int:
    """The bytes of LevelDB's log."""
    return max(log.stat().st_size for log in server.dir.glob("*.log"))


def keys_stored(server: StrataServer) -> int:
    """How many keys the store has, those of dropped databases too. Requires: it has ended."""
    engine = open_existing(server.dir)
    try:
        return sum(1 for _ in engine.scan_keys(rows.META, rows.end_of(rows.META)))
    finally:
        engine.close()


def test_a_full_sync_that_has_no_room_leaves_the_old_data(
    leader: StrataServer, follower: StrataServer
) -> None:
    with leader.client() as writer, follower.client() as client:
        writer.pipeline([("SET", f"key{number}", "x" * 200) for number in range(MANY_KEYS)])
        client.send("SET", "old", "data")
        limit_files(follower, LIMIT)
        client.send("REPLICAOF", "127.0.0.1", leader.port)
        assert wait_until_down(client).endswith(("File too large", "No space left on device"))
        wait_until(lambda: "the full sync failed: " in follower.output())
        assert info(client)["master_sync_in_progress"] == "0"
        assert client.send("GET", "old").raw == b"$4\r\ndata\r\n"
        assert client.send("DBSIZE").raw == b":1\r\n"
        limit_files(follower, NO_LIMIT)
        wait_in_step(leader, follower)
        wait_until(lambda: info(client, "memory")["lazyfree_pending_objects"] == "0")
    assert_equal(leader, follower)
    assert keys_stored(follower) == MANY_KEYS, "what was loaded in vain is still there"


def test_a_full_sync_that_cannot_take_its_place_leaves_the_old_data(
    leader: StrataServer, follower: StrataServer
) -> None:
    """The dump has room; the commit that would put it in its place, behind a script, has none."""
    with leader.client() as writer, follower.client() as client, follower.client() as busy:
        follow(follower, leader)
        client.send("REPLICAOF", "NO", "ONE")
        writer.send("SET", "new", VALUE)
        client.send("SET", "old", "data")
        busy.write(encode("EVAL", "while true do end", "1", "old"))
        wait_until(lambda: info(client, "stats")["long_commands"] != "0")
        client.send("REPLICAOF", "127.0.0.1", leader.port)
        wait_until(lambda: log_size(follower) > len(VALUE), follower.output)
        limit_files(follower, log_size(follower))
        wait_until(lambda: client.send("SCRIPT", "KILL").raw == b"+OK\r\n")
        wait_until_down(client)
        wait_until(lambda: "the full sync failed: " in follower.output())
        assert client.send("KEYS", "*").raw == b"*1\r\n$3\r\nold\r\n"
        told = info(client)
        assert told["slave_repl_offset"] == told["slave_read_repl_offset"]
        limit_files(follower, NO_LIMIT)
        wait_in_step(leader, follower)
        wait_until(lambda: info(client, "memory")["lazyfree_pending_objects"] == "0")
    assert_equal(leader, follower)
    assert keys_stored(follower) == 1, "what was loaded in vain is still there"


def test_a_replica_without_room_applies_nothing_by_halves(
    leader: StrataServer, follower: StrataServer
) -> None:
    follow(follower, leader)
    with leader.client() as writer, follower.client() as client:
        limit_files(follower, LIMIT)
        for number in range(KEYS):
            writer.pipeline(
                [
                    ("MULTI",),
                    ("INCR", "n"),
                    ("SET", f"key{number}", VALUE),
                    ("RPUSH", "list", number),
                    ("EXEC",),
                ]
            )
        wait_until_down(client)
        applied = int(client.send("GET", "n").frame.data or b"0")
        assert 0 < applied < KEYS
        assert client.send("DBSIZE").frame.number == applied + 2
        assert client.send("LLEN", "list").frame.number == applied
        limit_files(follower, NO_LIMIT)
        wait_in_step(leader, follower)
        assert info(writer, "stats")["sync_full"] == "1", "it has begun anew"
    assert_equal(leader, follower)


def test_a_long_command_without_room_is_not_taken_for_applied(
    leader: StrataServer, follower: StrataServer
) -> None:
    follow(follower, leader)
    with leader.client() as writer, follower.client() as client:
        members = [f"{number}-{'m' * 100}" for number in range(3000)]
        for start in range(0, 3000, 500):
            writer.send("SADD", "big", *members[start : start + 500])
        wait_in_step(leader, follower)
        limit_files(follower, 600_000)
        assert writer.send("SUNIONSTORE", "copy", "big").frame.number == 3000
        wait_until_down(client)
        assert client.send("EXISTS", "copy").frame.number == 0
        limit_files(follower, NO_LIMIT)
    assert_equal(leader, follower)


def test_a_replica_never_hears_of_what_its_master_refused(
    leader: StrataServer, follower: StrataServer
) -> None:
    follow(follower, leader)
    with leader.client() as writer, follower.client() as client:
        limit_files(leader, LIMIT)
        commands = [("APPEND", f"key{number}", VALUE) for number in range(KEYS)]
        replies = writer.pipeline(commands)
        refused = [reply for reply in replies if reply.frame.is_error]
        assert 0 < len(refused) < KEYS
        limit_files(leader, NO_LIMIT)
        wait_until(lambda: not writer.send("INCR", "n").frame.is_error, leader.output)
        wait_in_step(leader, follower)
        assert info(writer, "stats")["sync_full"] == "1", "the replica has begun anew"
        assert client.send("DBSIZE").frame.number == KEYS - len(refused) + 1
    assert_equal(leader, follower)


def test_a_replica_that_leads_without_room_goes_on_under_an_id_of_its_own(
    leader: StrataServer, follower: StrataServer
) -> None:
    follow(follower, leader)
    with leader.client() as writer, follower.client() as client:
        limit_files(follower, LIMIT)
        fill(writer)
        wait_until_down(client)
        assert client.send("REPLICAOF", "NO", "ONE").raw == b"+OK\r\n"
        limit_files(follower, NO_LIMIT)
        wait_until(lambda: not client.send("RPUSH", "list", "mine").frame.is_error)
        assert info(client)["master_replid"] != info(writer)["master_replid"]
    follow(follower, leader)
    assert_equal(leader, follower)


def test_a_master_without_room_is_followed_as_soon_as_it_has_some(
    leader: StrataServer, follower: StrataServer
) -> None:
    with leader.client() as writer, follower.client() as client:
        limit_files(leader, LIMIT)
        fill(writer)
        assert writer.send("SET", "k", "v").raw.startswith(b"-MISCONF ")
        client.send("SET", "old", "data")
        client.send("REPLICAOF", "127.0.0.1", leader.port)
        wait_until(lambda: "NOMASTERLINK" in info(client)["master_link_error"], leader.output)
        assert client.send("GET", "old").raw == b"$4\r\ndata\r\n"
        limit_files(leader, NO_LIMIT)
    assert_equal(leader, follower)


@pytest.mark.slow
@pytest.mark.effort
def test_a_disk_that_is_full_again_and_again_loses_nothing(
    leader: StrataServer, follower: StrataServer
) -> None:
    dice = random.Random(1)
    follow(follower, leader)
    writer = Writer(leader.port)
    with leader.client() as one, follower.client() as client:
        for _ in range(rounds(8, least=1)):
            limit_files(follower, log_size(follower) + dice.randint(1, 5000))
            wait_until_down(client)
            limit_files(follower, NO_LIMIT)
            wait_until(lambda: info(client)["master_link_status"] == "up", follower.output)
        writer.stop()
        assert info(one, "stats")["sync_full"] == "1", "it has begun anew"
    assert writer.acknowledged
    assert_equal(leader, follower)


@pytest.mark.slow
@pytest.mark.effort
def test_a_disk_that_is_full_again_and_again_with_a_small_backlog_has_no_wrong_byte(
    tmp_path: Path, follower: StrataServer
) -> None:
    """Whether the replica goes on or begins anew each time, it has what its master has."""
    leader = StrataServer(tmp_path / "small", flags=["--repl-backlog-size", "1mb"]).start()
    dice = random.Random(2)
    follow(follower, leader)
    writer = Writer(leader.port)
    with leader.client() as one, follower.client() as client:
        for _ in range(rounds(25, least=1)):
            limit_files(follower, log_size(follower) + dice.randint(1, 5000))
            wait_until_down(client)
            limit_files(follower, NO_LIMIT)
            wait_until(lambda: info(client)["master_link_status"] == "up", follower.output)
        writer.stop()
        told = info(one, "stats")
        assert int(told["sync_full"]) + int(told["sync_partial_ok"]) > 1
    assert writer.acknowledged
    assert_equal(leader, follower)
    leader.stop()
