"""The moving parts against a real redis-server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import loadgen, redisbench
from benchmarks.lanes import Spec
from benchmarks.pinger import Pinger
from benchmarks.progress import PlainProgress
from benchmarks.results import Results
from benchmarks.runner import run_workload, step_count
from benchmarks.sample import Sample, Unavailable
from benchmarks.servers import Server, redis_server, running
from benchmarks.shapes import SHAPES
from benchmarks.workloads.fairness import run_heavy
from benchmarks.workloads.model import Case, Workload, flush

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running([redis_server()]) as (one,):
        yield one


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pipeline", [1, 16])
def test_every_shape_is_answered_without_an_error(
    server: Server, shape: str, pipeline: int
) -> None:
    flush(server)
    spec = Spec(shape, steps=40, keys=50, connections=4, pipeline=pipeline)
    sample = loadgen.run(server.host, server.port, spec)
    assert sample["requests"] >= 40
    assert sample["max_ms"] >= sample["p50_ms"] > 0


def test_an_error_reply_makes_a_case_unavailable(server: Server) -> None:
    flush(server)
    with server.client() as client:
        client.call("SET", "big", "not a hash")
    with pytest.raises(Unavailable, match="WRONGTYPE"):
        loadgen.run(server.host, server.port, Spec("hgetall", steps=5))


def test_redis_benchmark_is_measured(server: Server) -> None:
    sample = redisbench.measure(server, redisbench.Plan("set", 2000, pipeline=16))
    assert sample["throughput"] > 0
    assert sample["p999_ms"] >= sample["p50_ms"]


def test_a_stall_counts_for_every_ping_that_was_due_in_it(server: Server) -> None:
    with Pinger(server.host, server.port) as pinger, server.client() as client:
        client.call("CLIENT", "PAUSE", 600, "ALL")
        client.call("PING")
    assert pinger.result["max_ms"] > 450
    assert pinger.result["p99_ms"] > 20


def test_a_heavy_reply_is_read_to_its_end(server: Server) -> None:
    loadgen.run(server.host, server.port, Spec("fill_zset", steps=50, key="heavy"))
    assert run_heavy(server, ("ZRANGE", "heavy", 0, -1)) > 0


def test_servers_are_stopped_and_their_files_removed_when_a_run_fails() -> None:
    one = redis_server()
    seen = []

    def fail() -> None:
        with running([one]):
            seen.append((one.process, one.directory))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    ((process, directory),) = seen
    assert process is not None
    assert process.poll() is not None
    assert directory is not None
    assert not Path(directory).exists()


@pytest.mark.parametrize("case_major", [False, True])
def test_no_round_but_the_first_begins_after_the_limit(case_major: bool) -> None:
    one: Sample = {"throughput": 1.0, "requests": 1.0}
    cases = [Case(name, lambda server: dict(one)) for name in ("a", "b")]
    results = Results({}, {"redis": "", "other": ""}, {})
    workload = Workload("w", "title", cases, case_major=case_major)
    fleet = [redis_server(), redis_server("other")]
    run_workload(workload, lambda: fleet, 3, results, PlainProgress(14), limit_s=0.0)
    counts = [len(o.samples) for case in results.cases.values() for o in case.outcomes.values()]
    assert counts == [1, 1, 1, 1]


def test_a_case_that_cannot_run_does_not_stop_the_others() -> None:
    def refuse(server: Server) -> dict[str, float]:
        raise Unavailable("ERR unknown command")

    cases = [Case("bad", refuse), Case("good", lambda s: {"throughput": 1.0, "requests": 1.0})]
    results = Results({}, {"redis": "", "other": ""}, {})
    workload = Workload("w", "title", cases)
    steps = PlainProgress(step_count([workload], 2, 2))
    run_workload(workload, lambda: [redis_server(), redis_server("other")], 2, results, steps)
    assert results.cases["w/bad"].outcomes["redis"].unavailable == "ERR unknown command"
    good = results.cases["w/good"].outcomes["other"]
    assert len(good.samples) == 2
    assert good.samples[0]["peak_rss_mb"] > 1
