"""Being a master and being a replica: what each answers, and how one becomes the other."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import encode
from tests.replication.fleet import contents, follow, info, wait_in_step

Two = tuple[StrataServer, StrataServer]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    place = tmp_path_factory.mktemp("roles")
    flags = ("--busy-reply-threshold", "0")  # a script may take long on a busy machine
    one, two = (StrataServer(place / name, flags=flags).start() for name in ("one", "two"))
    both = (one, two)
    yield both
    for server in both:
        server.stop()


@pytest.fixture
def followed(servers: Two) -> Iterator[Two]:
    """A master, and its replica."""
    leader, follower = servers
    with leader.client() as client:
        client.send("REPLICAOF", "NO", "ONE")
        client.send("FLUSHALL")
    follow(follower, leader)
    yield servers
    with follower.client() as client:
        client.send("REPLICAOF", "NO", "ONE")


def test_both_sides_tell_their_role(followed: Two) -> None:
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        kind, offset, replicas = one.send("ROLE").frame.elements
        assert kind.data == b"master"
        assert offset.number == int(info(one)["master_repl_offset"])
        assert replicas.elements[0].elements[1].data == b"%d" % follower.port
        told = other.send("ROLE").frame.elements
        assert [told[0].data, told[1].data, told[2].number] == [b"slave", b"127.0.0.1", leader.port]
        assert told[3].data == b"connected"
        assert info(one)["connected_slaves"] == "1"
        assert info(one)["slave0"].startswith(f"ip=127.0.0.1,port={follower.port},state=online,")
        assert b"flags=S" in one.send("CLIENT", "LIST", "TYPE", "replica").raw
        assert b"flags=M" in other.send("CLIENT", "LIST", "TYPE", "master").raw


def test_a_replica_refuses_writes_and_scripts_that_write(followed: Two) -> None:
    with followed[1].client() as client:
        assert client.send("SET", "k", "v").raw.startswith(b"-READONLY ")
        reply = client.send("EVAL", "return redis.call('SET', 'k', 'v')", 0).raw
        assert b"READONLY" in reply
        client.send("MULTI")
        assert client.send("SET", "k", "v").raw.startswith(b"-READONLY ")
        assert client.send("EXEC").raw.startswith(b"-EXECABORT")


def test_a_replica_tells_what_it_has_read_and_not_applied(followed: Two) -> None:
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        one.send("CONFIG", "SET", "repl-ping-replica-period", 3600)
        one.send("SET", "k", "u")
        wait_in_step(leader, follower)
        before = info(other)["slave_repl_offset"]
        other.send("CLIENT", "PAUSE", 1_000_000, "WRITE")
        one.send("SET", "k", "v")
        end = info(one)["master_repl_offset"]
        wait_until(lambda: info(other)["slave_read_repl_offset"] == end)
        assert info(other)["slave_repl_offset"] == before
        other.send("CLIENT", "UNPAUSE")
        wait_until(lambda: info(other)["slave_repl_offset"] == end)
        one.send("CONFIG", "SET", "repl-ping-replica-period", 10)


def test_wait_counts_the_replicas_that_have_it(followed: Two) -> None:
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        one.send("SET", "k", "v")
        assert one.send("WAIT", 1, 0).frame.number == 1
        assert other.send("GET", "k").raw == b"$1\r\nv\r\n"
        assert one.send("WAIT", 2, 50).frame.number == 1
        assert other.send("WAIT", 1, 0).frame.is_error


def test_what_expires_is_deleted_on_the_replica_by_the_master(followed: Two) -> None:
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        one.send("SET", "k", "v", "PX", 1)
        one.send("HSET", "h", "f", "v")
        one.send("HPEXPIRE", "h", 1, "FIELDS", 1, "f")
        wait_until(lambda: one.send("DBSIZE").frame.number == 0)
        wait_in_step(leader, follower)
        assert other.send("DBSIZE").frame.number == 0
        assert other.send("EXISTS", "k", "h").frame.number == 0


def test_min_replicas_to_write(followed: Two) -> None:
    leader, _ = followed
    with leader.client() as one:
        one.send("CONFIG", "SET", "min-replicas-to-write", 2)
        assert (
            one.send("SET", "k", "v").raw == b"-NOREPLICAS Not enough good replicas to write.\r\n"
        )
        assert info(one)["min_slaves_good_slaves"] == "1"
        one.send("CONFIG", "SET", "min-replicas-to-write", 1)
        assert one.send("SET", "k", "v").raw == b"+OK\r\n"
        one.send("CONFIG", "SET", "min-replicas-to-write", 0)


def test_stale_data_are_refused_if_so_configured(followed: Two) -> None:
    _, follower = followed
    with follower.client() as other:
        other.send("CONFIG", "SET", "replica-serve-stale-data", "no")
        other.send("REPLICAOF", "127.0.0.1", "1")
        wait_until(lambda: other.send("GET", "k").raw.startswith(b"-MASTERDOWN "))
        assert not other.send("INFO").frame.is_error
        other.send("CONFIG", "SET", "replica-serve-stale-data", "yes")
        assert not other.send("GET", "k").frame.is_error


def test_a_promoted_replica_goes_on_under_another_id_and_is_followed_without_a_full_sync(
    followed: Two,
) -> None:
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        one.send("SET", "k", "v")
        wait_in_step(leader, follower)
        before = info(other)["master_replid"]
        other.send("REPLICAOF", "NO", "ONE")
        assert info(other)["master_replid2"] == before
        other.send("SET", "k", "w")
        syncs = info(other, "stats")["sync_full"]
        follow(leader, follower)
        assert info(other, "stats")["sync_full"] == syncs
        assert one.send("GET", "k").raw == b"$1\r\nw\r\n"


def test_a_chain_has_one_stream(followed: Two, tmp_path: Path) -> None:
    leader, middle = followed
    last = StrataServer(tmp_path / "last").start()
    follow(last, middle)
    with leader.client() as one, last.client() as three:
        one.send("SELECT", 3)
        one.send("RPUSH", "l", "a", "b")
        wait_in_step(leader, middle)
        wait_in_step(middle, last)
        assert info(three)["master_replid"] == info(one)["master_replid"]
        assert contents(three) == contents(one)
    last.stop()


def test_a_replica_that_does_not_read_is_cut(followed: Two) -> None:
    leader, _ = followed
    with leader.client() as one, leader.client() as lazy:
        one.send("CONFIG", "SET", "client-output-buffer-limit", "replica 1mb 0 0")
        lazy.write(b"PSYNC ? -1\r\n")
        wait_until(lambda: info(one)["connected_slaves"] == "2")
        unread = 0
        while info(one)["connected_slaves"] == "2":
            one.pipeline([("SET", "large", "x" * 100_000)] * 2)
            told = info(one, "memory")
            assert int(told["mem_replication_backlog"]) <= int(info(one)["repl_backlog_size"])
            buffers = int(told["mem_total_replication_buffers"])
            unread = max(unread, buffers - int(told["mem_replication_backlog"]))
        assert unread > 0, "what a replica has not read takes memory, which is told"
        assert int(info(one, "stats")["client_output_buffer_limit_disconnections"]) > 0


def test_redis_cli_takes_a_dump(followed: Two, tmp_path: Path) -> None:
    leader, _ = followed
    with leader.client() as one:
        one.send("SET", "k", "v")
    file = tmp_path / "dump.rdb"
    taken = subprocess.run(
        ["redis-cli", "-p", str(leader.port), "--rdb", str(file)], capture_output=True, timeout=120
    )
    assert taken.returncode == 0, taken.stderr
    oracle = RedisServer(tmp_path, flags=["--dbfilename", "dump.rdb"]).start()
    with oracle.client() as client:
        assert client.send("GET", "k").raw == b"$1\r\nv\r\n"
    oracle.stop()


def test_redis_cli_shows_the_stream(followed: Two) -> None:
    leader, _ = followed
    flags = ["redis-cli", "-p", str(leader.port), "--replica"]
    with subprocess.Popen(flags, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            with leader.client() as one:
                wait_until(lambda: info(one)["connected_slaves"] == "2")
                one.send("SET", "k", "what is told")
            shown = iter(process.stdout.readline, b"")
            assert any(line.strip() == b'"SET","k","what is told"' for line in shown)
        finally:
            process.kill()


def test_an_old_replica_without_marks_gets_a_length(followed: Two) -> None:
    with followed[0].client() as client:
        client.write(b"SYNC\r\n")
        stream = client.socket.makefile("rb")
        while not (line := stream.readline().strip()):
            """An empty line is a sign of life."""
        assert line.startswith(b"$")
        dump = stream.read(int(line[1:]))
        assert dump.startswith(b"REDIS0010")
        assert dump[-9] == 0xFF


def test_failover_hands_the_place_over_and_loses_nothing(followed: Two) -> None:
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        for number in range(100):
            one.send("RPUSH", "l", number)
        syncs = info(other, "stats")["sync_full"]
        assert one.send("FAILOVER", "TO", "127.0.0.1", follower.port).raw == b"+OK\r\n"
        wait_until(lambda: info(one)["role"] == "slave" and info(other)["role"] == "master")
        wait_in_step(follower, leader)
        assert info(one)["master_failover_state"] == "no-failover"
        assert info(other, "stats")["sync_full"] == syncs
        assert other.send("RPUSH", "l", "more").frame.number == 101
        assert one.send("RPUSH", "l", "x").raw.startswith(b"-READONLY ")


def test_a_failover_can_be_aborted_or_runs_out_of_time(followed: Two) -> None:
    leader, follower = followed
    with leader.client() as one:
        assert one.send("FAILOVER", "ABORT").raw == b"-ERR No failover in progress.\r\n"
        assert follower.process is not None
        follower.process.send_signal(signal.SIGSTOP)
        try:
            one.send("SET", "k", "v")
            assert one.send("FAILOVER").raw == b"+OK\r\n"
            assert info(one)["master_failover_state"] == "waiting-for-sync"
            assert one.send("FAILOVER").raw == b"-ERR FAILOVER already in progress.\r\n"
            assert one.send("FAILOVER", "ABORT").raw == b"+OK\r\n"
            assert one.send("SET", "k", "w").raw == b"+OK\r\n"
            one.send("FAILOVER", "TIMEOUT", 1)
            assert one.send("SET", "k", "x").raw == b"+OK\r\n"
        finally:
            follower.process.send_signal(signal.SIGCONT)


def test_a_stream_that_nobody_wants_ends_and_begins_anew(followed: Two) -> None:
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        other.send("REPLICAOF", "NO", "ONE")
        before = info(one)["master_replid"]
        one.send("CONFIG", "SET", "repl-backlog-ttl", 1)
        wait_until(lambda: info(one)["repl_backlog_active"] == "0")
        one.send("CONFIG", "SET", "repl-backlog-ttl", 3600)
        one.send("SET", "k", "unheard")
        follow(follower, leader)
        assert other.send("GET", "k").raw == b"$7\r\nunheard\r\n"
        assert info(one)["master_replid"] != before


def test_a_pipeline_of_many_clients_and_long_writers_arrives_in_an_order_that_is_the_same(
    followed: Two,
) -> None:
    leader, follower = followed
    with leader.client() as one, leader.client() as two, leader.client() as three:
        many = [str(number) for number in range(5000)]
        one.send("SADD", "set", *many)
        one.send("ZADD", "zset", *[word for name in many for word in (name, name)])
        for number in range(5):
            one.write(encode("SUNIONSTORE", "union", "set", "other"))
            two.write(encode("SPOP", "set", "700"))
            three.write(encode("MSET", *[word for name in many for word in (name, number)]))
            three.write(encode("INCR", "n") * 1)
            one.write(encode("EVAL", LONG_SCRIPT, 2, "n", "list"))
            two.write(encode("ZREMRANGEBYRANK", "zset", "0", "600"))
            two.write(encode("DEL", *many[number::2]))
            for client, count in ((one, 2), (two, 3), (three, 2)):
                for _ in range(count):
                    assert not client.read().frame.is_error
        wait_in_step(leader, follower)
        with follower.client() as other:
            assert contents(other) == contents(one)


LONG_SCRIPT = """
for i = 1, 3000 do redis.call('INCR', KEYS[1]); redis.call('RPUSH', KEYS[2], i) end
return redis.call('SPOP', 'other')
"""


WRONG_CALLS = """
FAILOVER | FAILOVER ABORT | FAILOVER FORCE | FAILOVER TO a 1 | FAILOVER TO a | FAILOVER TO a b
FAILOVER TIMEOUT 0 | FAILOVER TIMEOUT x | FAILOVER FORCE FORCE | FAILOVER TO a 1 TO a 1 | FAILOVER x
FAILOVER FORCE TO a 1 TIMEOUT 10 | FAILOVER ABORT x | REPLICAOF | REPLICAOF a | REPLICAOF a b
REPLICAOF a 99999 | REPLICAOF a 1 b | SLAVEOF a b | PSYNC | PSYNC ? | PSYNC ? x
REPLCONF | REPLCONF x | REPLCONF x y | REPLCONF listening-port x | REPLCONF capa | WAIT 0 0
WAIT x 0 | WAIT 0 x | WAIT 0 -1 | WAIT 1 | SET k v | GET k | DEL k | EVAL "return 1" 0
MULTI | SET k v | EXEC | SET k v EX 0 | INCR | FLUSHALL | ROLE x | SYNC x
"""


@pytest.mark.parametrize("is_replica", [False, True], ids=["master", "replica"])
def test_wrong_calls_are_answered_as_by_redis(tmp_path: Path, is_replica: bool) -> None:
    redis = RedisServer(tmp_path / "redis").start()
    strata = StrataServer(tmp_path / "strata").start()
    try:
        with redis.client() as one, strata.client() as other:
            for client in (one, other) if is_replica else ():
                client.send("REPLICAOF", "127.0.0.1", 1)
            for call in WRONG_CALLS.replace("\n", " | ").strip(" |").split(" | "):
                words = shlex.split(call)
                assert other.send(*words).raw == one.send(*words).raw, call
    finally:
        strata.stop()
        redis.stop()


def test_a_full_sync_tells_what_it_has_loaded_as_redis_does(tmp_path: Path) -> None:
    """Expired keys count as loaded: it is the master who deletes them."""
    leader = RedisServer(tmp_path / "master").start()
    oracle = RedisServer(tmp_path / "redis").start()
    follower = StrataServer(tmp_path / "replica").start()
    with leader.client() as one, oracle.client() as redis, follower.client() as other:
        one.send("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        one.pipeline([("SET", f"key{number}", "v") for number in range(20)])
        one.send("SET", "late", "v", "PX", 1)
        one.send("SELECT", 3)
        one.send("RPUSH", "list", "a", "b")
        for client in (redis, other):
            client.send("SET", "old", "data")
        follow(oracle, leader)
        follow(follower, leader)
        told, expected = info(other, "persistence"), info(redis, "persistence")
        for name in ("rdb_last_load_keys_loaded", "rdb_last_load_keys_expired"):
            assert told[name] == expected[name]
        assert told["rdb_last_load_keys_loaded"] == "22"
    for server in (follower, oracle, leader):
        server.stop()


@pytest.mark.slow
def test_a_link_that_waits_is_not_looked_at_like_a_client(followed: Two) -> None:
    """It has no socket of its own: the look for clients that are gone once failed over it."""
    leader, follower = followed
    with leader.client() as one, follower.client() as other:
        other.send("CLIENT", "PAUSE", 2500, "WRITE")
        one.send("SET", "k", "v")
    wait_in_step(leader, follower)
    assert "Traceback" not in follower.output()
