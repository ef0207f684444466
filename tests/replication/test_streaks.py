"""Runs of a command, with replicas: the stream, the data and the replies are those of the handlers.

A command that is sent alone is served by its handler, those of a pipeline by a streak, if it can.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from tests.commands.runs import BEFORE, KEYS, Call, run_of_calls
from tests.harness.effort import rounds
from tests.harness.servers import Process, RedisServer, StrataServer
from tests.harness.waiting import HANG_S
from tests.harness.wire import WireClient, encode
from tests.replication.fleet import contents, follow, info, wait_in_step

PIPELINE = 16
_MARKS = count(1)


class Recorder:
    """A replica that keeps the commands of the stream, and acknowledges nothing."""

    def __init__(self, master: Process) -> None:
        self._link = socket.create_connection(("127.0.0.1", master.port), timeout=HANG_S)
        self._link.sendall(encode("PSYNC", "?", -1))
        self._file = self._link.makefile("rb")
        assert self._line().startswith(b"+FULLRESYNC ")
        self._file.read(int(self._line().removeprefix(b"$")))

    def close(self) -> None:
        self._file.close()
        self._link.close()

    def recorded(self, client: WireClient) -> list[list[bytes]]:
        """The commands up to here, by a mark that the client writes."""
        return self.up_to(write_mark(client))

    def up_to(self, mark: list[bytes]) -> list[list[bytes]]:
        """The commands before a mark."""
        found: list[list[bytes]] = []
        while (words := self._next_words()) != mark:
            if words != [b"PING"]:  # a sign of life, at its own time
                found.append(words)
        return found

    def _line(self) -> bytes:
        while not (line := self._file.readline().rstrip()):
            pass
        return line

    def _next_words(self) -> list[bytes]:
        words = []
        for _ in range(int(self._line().removeprefix(b"*"))):
            size = int(self._line().removeprefix(b"$"))
            words.append(self._file.read(size + 2)[:-2])
        return words


def write_mark(client: WireClient) -> list[bytes]:
    """Write something that is found again in the stream; returns it."""
    mark = [b"SET", b"mark", b"%d" % next(_MARKS)]
    client.send(*mark)
    return mark


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    server = StrataServer(tmp_path_factory.mktemp("streaks") / "master").start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def fleet(
    master: StrataServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[StrataServer, list[Process]]]:
    """The master with a replica of each kind."""
    place = tmp_path_factory.mktemp("replicas")
    replicas: list[Process] = [
        StrataServer(place / "strata").start(),
        RedisServer(place / "redis").start(),
    ]
    for replica in replicas:
        follow(replica, master)
    yield master, replicas
    for replica in replicas:
        replica.stop()


@pytest.fixture
def recorder(master: StrataServer) -> Iterator[Recorder]:
    one = Recorder(master)
    yield one
    one.close()


def pipelines(choose: random.Random) -> list[list[Call]]:
    """Runs on keys of any kind, with expire-times, errors and other databases in between."""
    made: list[list[Call]] = []
    for _ in range(6):
        calls: list[Call] = []
        for _ in range(choose.choice([1, 1, 3])):
            if not choose.randrange(4):
                calls.append(("SELECT", choose.choice([0, 0, 9])))
            if choose.randrange(3):
                calls.append(choose.choice(BEFORE))
            run = run_of_calls(choose)
            if not choose.randrange(4):
                when = choose.choice([("PEXPIRE", 1), ("PEXPIRE", 10_000_000), ("PEXPIREAT", 1)])
                run.insert(choose.randrange(len(run)), (when[0], choose.choice(KEYS), when[1]))
            calls += run
        made.append(calls)
    return made


def test_a_streak_gives_the_stream_that_its_handlers_give(
    master: StrataServer, recorder: Recorder, diff_seed: int
) -> None:
    with master.client() as client:
        for number in range(rounds(100)):
            calls = [
                call
                for calls in pipelines(random.Random(f"{diff_seed} {number}"))
                for call in calls
                if not {"PX", "PEXPIRE"} & set(call)  # else the time of day decides
            ]
            streams = []
            for is_pipeline in (False, True):
                client.pipeline([("FLUSHALL",), ("SELECT", 0)])
                recorder.recorded(client)
                if is_pipeline:
                    client.pipeline(calls)
                else:
                    for call in calls:
                        client.send(*call)
                client.send("SELECT", 0)
                streams.append(recorder.recorded(client))
            assert streams[1] == streams[0], number


def test_who_begins_to_follow_is_told_the_database(master: StrataServer) -> None:
    """Also if the command before was for the same one, which the others know."""
    with master.client() as client:
        client.send("SELECT", 3)
        for _ in range(2):
            recorder = Recorder(master)
            client.send("SET", "k", "v")
            assert recorder.recorded(client) == [[b"SELECT", b"3"], [b"SET", b"k", b"v"]]
            recorder.close()


def test_what_changes_nothing_is_not_told(master: StrataServer, recorder: Recorder) -> None:
    with master.client() as client:
        client.pipeline([("FLUSHALL",), ("SADD", "s", "a"), ("SET", "k", "no number")])
        client.send("SMISMEMBER", "s", "b", "c")  # a streak knows now that they are not there
        recorder.recorded(client)
        calls = [("SADD", "s", member) for member in "aabbaacaa"]
        client.pipeline([*calls, *[("INCR", "k")] * 5, *[("LPUSH", "k", "x")] * 5])
        assert recorder.recorded(client) == [[b"SADD", b"s", b"b"], [b"SADD", b"s", b"c"]]


def test_wait_counts_what_a_streak_has_written(master: StrataServer, recorder: Recorder) -> None:
    """One of the replicas acknowledges nothing: who has written something waits for it."""
    with master.client() as first:
        first.send("SET", "k", "1")
        replicas = int(info(first)["connected_slaves"])
        with master.client() as client:
            assert client.send("WAIT", replicas, 50).frame.number == replicas
            client.pipeline([("INCR", "k")] * PIPELINE)
            assert (client.send("WAIT", replicas, 50).frame.number or 0) < replicas


@pytest.mark.slow
@pytest.mark.effort
def test_replicas_have_what_pipelines_have_written(
    fleet: tuple[StrataServer, list[Process]], diff_seed: int
) -> None:
    master, replicas = fleet
    for number in range(rounds(100)):
        choose = random.Random(f"{diff_seed} {number}")
        with master.client() as one, master.client() as other, master.client() as watching:
            watching.send("WATCH", *choose.sample(KEYS, choose.randrange(1, 3)))
            if choose.randrange(2):
                watching.send("UNWATCH")
            for calls in pipelines(choose):
                client = choose.choice([one, other])
                client.pipeline(_in_unit(calls) if not choose.randrange(5) else calls)
            watching.pipeline([("MULTI",), *[("INCR", "watched")] * 5, ("EXEC",)])
            if not choose.randrange(4):
                one.send("FLUSHALL")
        _assert_same(master, replicas)
    assert "failed here" not in "".join(replica.output() for replica in replicas)


def test_a_replica_passes_on_what_it_was_sent(
    fleet: tuple[StrataServer, list[Process]], diff_seed: int
) -> None:
    master, replicas = fleet
    first, second = Recorder(master), Recorder(replicas[0])
    with master.client() as client:
        for one in (first, second):
            one.recorded(client)
        for calls in pipelines(random.Random(diff_seed)):
            client.pipeline(calls)
        mark = write_mark(client)
        sent, passed_on = first.up_to(mark), second.up_to(mark)
    first.close()
    second.close()
    begin = len(sent) - len(passed_on)  # what was written before the second began to listen
    assert passed_on
    assert sent[begin:] == passed_on


def _in_unit(calls: Sequence[Call]) -> list[Call]:
    return [("MULTI",), *calls, ("EXEC",)]


def _assert_same(master: Process, replicas: list[Process]) -> None:
    with master.client() as leader:
        for key in KEYS:
            for database in (0, 9):
                leader.pipeline([("SELECT", database), ("EXISTS", key)])  # what is due is told
        wait_in_step(master, *replicas)
        expected = contents(leader)
        for replica in replicas:
            with replica.client() as follower:
                assert contents(follower) == expected


def test_a_replica_answers_pipelines_as_its_master_does(
    fleet: tuple[StrataServer, list[Process]],
) -> None:
    master, replicas = fleet
    replica = replicas[0]
    with master.client() as leader, replica.client() as follower:
        leader.pipeline(
            [
                ("FLUSHALL",),
                ("SET", "a", "1"),
                ("SET", "c", "gone", "PX", 1),
                ("HSET", "b", "f1", "v", "f2", "w" * 2000),
            ]
        )
        wait_in_step(master, replica)
        reads: list[Call] = [("GET", key) for key in KEYS for _ in range(PIPELINE)]
        reads += [("HGET", key, field) for key in KEYS for field in ("f1", "f2", "f3", "f1")]
        wrong: list[Call] = [("GET",), ("HGET", "b"), ("GET", "a", "b")]
        for _ in range(2):
            calls = [*reads, *wrong, *reads]
            expected = [reply.raw for reply in leader.pipeline(calls)]
            assert [reply.raw for reply in follower.pipeline(calls)] == expected


def test_writes_between_reads_are_refused_by_a_replica(
    fleet: tuple[StrataServer, list[Process]],
) -> None:
    master, replicas = fleet
    with master.client() as leader:
        leader.pipeline([("FLUSHALL",), ("SET", "a", "1"), ("HSET", "b", "f", "1")])
    wait_in_step(master, *replicas)
    reads: list[Call] = [*[("GET", "a")] * PIPELINE, *[("HGET", "b", "f")] * PIPELINE]
    writes: list[Call] = [*[("SET", "a", "2")] * PIPELINE, *[("HSET", "b", "f", "2")] * PIPELINE]
    answers = []
    for replica in replicas:
        with replica.client() as follower:
            follower.pipeline(reads)
            replies = follower.pipeline([*reads, *writes, *reads])
            answers.append([reply.raw for reply in replies])
    assert answers[0] == answers[1]
    assert sum(raw.startswith(b"-READONLY ") for raw in answers[0]) == len(writes)


def test_a_replica_that_has_lost_its_master_answers_no_pipeline(tmp_path: Path) -> None:
    master = StrataServer(tmp_path / "master").start()
    replica = StrataServer(tmp_path / "replica").start()
    with master.client() as client:
        client.send("SET", "a", "1")
    follow(replica, master)
    with replica.client() as client:
        calls: list[Call] = [("GET", "a")] * PIPELINE
        assert {reply.raw for reply in client.pipeline(calls)} == {b"$1\r\n1\r\n"}
        client.send("CONFIG", "SET", "replica-serve-stale-data", "no")
        client.send("REPLICAOF", "127.0.0.1", 1)
        assert {reply.raw[:12] for reply in client.pipeline(calls)} == {b"-MASTERDOWN "}
        client.send("CONFIG", "SET", "replica-serve-stale-data", "yes")
        assert {reply.raw for reply in client.pipeline(calls)} == {b"$1\r\n1\r\n"}
    replica.stop()
    master.stop()
