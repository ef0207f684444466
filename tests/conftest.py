"""Fixtures shared by all end-to-end tests: one redis-server and one StrataKV per test run."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.harness.effort import EFFORT, rounds
from tests.harness.hbase import IS_ON_HBASE, lacking
from tests.harness.servers import RedisServer, StrataServer, last_words
from tests.harness.subjects import start_oracle, start_subject
from tests.harness.wire import WireClient

_SEED = os.environ.get("STRATAKV_DIFF_SEED") or "1"
DIFF_SEED = random.SystemRandom().randrange(2**32) if _SEED == "random" else int(_SEED)
"""The same sequences in every run, unless the seed is another number or `random`."""
ORACLE = "7.0"
"""The Redis whose replies are ours; `make test` brings it where the system has another."""
DIFF_EXAMPLES = rounds(40)

# deadline: the two servers share the machine with other tests, so one slow example says nothing.
# database: a run depends on its seed alone; the failure message holds the commands to replay.
settings.register_profile(
    "ci",
    max_examples=DIFF_EXAMPLES,
    deadline=None,
    database=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("ci")


def pytest_report_header() -> str:
    return f"STRATAKV_EFFORT={EFFORT}, differential seed: STRATAKV_DIFF_SEED={DIFF_SEED}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure is shown with the last words of servers that have ended by themselves."""
    report = yield
    if report.failed:
        report.sections += [(f"server in {where}", text) for where, text in last_words().items()]
    return report


@pytest.fixture(scope="session", autouse=True)
def effort_is_no_option() -> None:
    """It was read; a server warns of variables that it does not know."""
    os.environ.pop("STRATAKV_EFFORT", None)


@pytest.fixture(scope="session")
def diff_seed() -> int:
    return DIFF_SEED


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The oracle. Another version answers otherwise here and there, and would be no judge."""
    shown = subprocess.run(["redis-server", "--version"], capture_output=True, text=True)
    if f" v={ORACLE}." not in shown.stdout:
        pytest.skip(f"the oracle is Redis {ORACLE}, not {shown.stdout.strip()}")
    server = start_oracle(tmp_path_factory.mktemp("redis") / "data")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def strata_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer | RedisServer]:
    """The server under test."""
    if IS_ON_HBASE and (reason := lacking()):
        pytest.skip(reason)
    server = start_subject(tmp_path_factory.mktemp("strata") / "data")
    yield server
    server.stop()


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def protocol(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def redis_wire(redis_server: RedisServer, protocol: int) -> Iterator[WireClient]:
    """A raw client of redis-server on an empty keyspace, once in RESP2 and once in RESP3."""
    with redis_server.client(protocol) as client:
        client.send("FLUSHALL")
        yield client


@pytest.fixture
def strata_wire(strata_server: StrataServer, protocol: int) -> Iterator[WireClient]:
    """A raw client of StrataKV on an empty keyspace, once in RESP2 and once in RESP3."""
    with strata_server.client(protocol) as client:
        client.send("FLUSHALL")
        yield client
