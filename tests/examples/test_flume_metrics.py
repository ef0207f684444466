"""The log-metrics store and its query API, on a real server and over real HTTP."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from examples.flume_metrics import __main__ as command_line
from examples.flume_metrics import sample, shapes
from examples.flume_metrics.load import load
from examples.flume_metrics.rows import BY_LOG, BY_MACHINE, Report, machine_name
from examples.flume_metrics.server import MetricsServer
from examples.flume_metrics.shapes import COUNT, SIZE
from examples.flume_metrics.store import MetricsStore
from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S

MACHINE = "8a352edd6e5e8f5ad196a875e1cfef93@8454"
OTHER = machine_name("web-02", 8454)
NOON = datetime(2015, 11, 11, 14, 9, 35)


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as client:
        yield client


@pytest.fixture
def store(client: redis.Redis) -> MetricsStore:
    return MetricsStore(client)


@pytest.fixture
def document(store: MetricsStore) -> MetricsStore:
    """The rows of the document's example."""
    later = NOON + timedelta(seconds=5)
    store.record([report("0000000007", NOON, 2000, 5000)])
    store.record([report("0000000007", later, 3000, 6000), report("0000000008", later, 2500, 5500)])
    return store


class Api:
    """The HTTP server of a store, asked one request at a time."""

    def __init__(self, server: MetricsServer) -> None:
        self.port = server.server_port

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body or None, {**kind, **named})
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    def get(self, path: str, **params: str) -> tuple[int, Any]:
        return self.ask("GET", f"{path}?{urlencode(params)}")


@pytest.fixture
def api(store: MetricsStore) -> Iterator[Api]:
    server = MetricsServer(store)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield Api(server)
    server.shutdown()
    server.server_close()
    thread.join()


def report(logid: str, time: datetime, count: int, size: int, machine: str = MACHINE) -> Report:
    return Report(machine, logid, time, {COUNT: count, SIZE: size})


# ---- the store


def test_every_report_is_stored_in_both_orders_and_both_steps(
    document: MetricsStore, client: redis.Redis
) -> None:
    five = {b"f:EventAcceptedCount": b"2000", b"f:ByteAcceptedSize": b"5000"}
    minute = {b"f:EventAcceptedCount": b"5000", b"f:ByteAcceptedSize": b"11000"}
    by_machine, by_log = (
        f"{MACHINE};20151111 14:09{{}};0000000007",
        f"0000000007;20151111 14:09{{}};{MACHINE}",
    )
    for table, row in ((BY_MACHINE, by_machine), (BY_LOG, by_log)):
        assert client.hgetall(f"{table}:5s:{row.format(':35')}") == five
        assert client.hgetall(f"{table}:1m:{row.format('')}") == minute


def test_a_machine_is_named_by_the_md5_of_its_host() -> None:
    assert machine_name("web-02", 8454).endswith("@8454")
    assert machine_name("a", 1) == "0cc175b9c0f1b6a831c399e269772661@1"


def test_the_minute_is_the_sum_of_its_rows(store: MetricsStore) -> None:
    load(store, minutes=3)
    for agent in sample.AGENTS:
        sums: dict[tuple[str, str], int] = {}
        for row in store.rows_of_machine(agent.machine, "20151111"):
            place = row.logid, row.time[:14]
            sums[place] = sums.get(place, 0) + row.metrics[COUNT]
        minutes = store.rows_of_machine(agent.machine, "20151111", "1m")
        assert {(row.logid, row.time): row.metrics[COUNT] for row in minutes} == sums


def test_a_report_sent_twice_counts_once_and_a_correction_replaces_it(store: MetricsStore) -> None:
    for count in (2000, 2000, 1500):
        store.record([report("0000000007", NOON, count, 5000)])
    for step in ("5s", "1m"):
        (row,) = store.rows_of_machine(MACHINE, "20151111", step)
        assert row.metrics == {COUNT: 1500, SIZE: 5000}


def test_a_report_twice_in_one_call_is_the_last_of_them(store: MetricsStore) -> None:
    store.record([report("0000000007", NOON, count, 1) for count in (7, 9)])
    (minute,) = store.rows_of_log("0000000007", "20151111", "1m")
    assert minute.metrics == {COUNT: 9, SIZE: 1}


def test_writers_at_the_same_time_lose_nothing(url: str, client: redis.Redis) -> None:
    def write(count: int) -> None:
        with redis.Redis.from_url(url) as own:
            for second in range(0, 60, 5):
                time = NOON.replace(second=second)
                MetricsStore(own).record([report("0000000007", time, count, 1)])

    threads = [threading.Thread(target=write, args=(count,)) for count in (10, 20, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = MetricsStore(client)
    rows = list(store.rows_of_machine(MACHINE, "20151111 14:09"))
    (minute,) = store.rows_of_machine(MACHINE, "20151111 14:09", "1m")
    assert len(rows) == 12
    assert minute.metrics[COUNT] == sum(row.metrics[COUNT] for row in rows)


def test_a_time_off_the_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="five-second mark"):
        report("0000000007", NOON + timedelta(seconds=1), 1, 1)


@pytest.mark.parametrize(
    ("ts", "count"),
    [("20151111", 5), ("20151111 14", 4), ("20151111 14:09", 2), ("20151111 14:09:35", 1)],
)
def test_a_time_is_a_prefix(store: MetricsStore, ts: str, count: int) -> None:
    times = [NOON, NOON + timedelta(seconds=5), NOON + timedelta(minutes=1)]
    times += [NOON - timedelta(minutes=9), NOON + timedelta(hours=1), NOON + timedelta(days=1)]
    store.record([report("0000000007", time, 1, 1) for time in times])
    assert len(list(store.rows_of_machine(MACHINE, ts))) == count
    assert len(list(store.rows_of_log("0000000007", ts))) == count
    assert list(store.rows_of_machine(OTHER, ts)) == []


def test_more_rows_than_are_read_at_once_come_in_order(store: MetricsStore) -> None:
    times = [NOON + timedelta(seconds=5 * number) for number in range(1100)]
    for start in range(0, 1100, 100):
        store.record([report("0000000007", time, 1, 1) for time in times[start : start + 100]])
    found = [row.time for row in store.rows_of_machine(MACHINE, "20151111")]
    assert found == [time.strftime("%Y%m%d %H:%M:%S") for time in times]


def test_rows_survive_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = StrataServer(tmp_path_factory.mktemp("flume") / "data").start()
    with redis.Redis(port=server.port) as before:
        MetricsStore(before).record([report("0000000007", NOON, 2000, 5000)])
    server.kill9()
    server.start()
    with redis.Redis(port=server.port) as after:
        (row,) = MetricsStore(after).rows_of_log("0000000007", "20151111", "1m")
    server.stop()
    assert row.metrics == {COUNT: 2000, SIZE: 5000}


# ---- the API

MACHINE_ANSWER = {
    MACHINE: {
        "0000000008": {"20151111 14:09:40": [{SIZE: "5500", COUNT: "2500"}]},
        "0000000007": {
            "20151111 14:09:35": [{SIZE: "5000", COUNT: "2000"}],
            "20151111 14:09:40": [{SIZE: "6000", COUNT: "3000"}],
        },
    }
}


def test_machine_to_logids_answers_as_in_the_document(document: MetricsStore, api: Api) -> None:
    question = {"_client_": "machine_to_logids", "machine": MACHINE, "ts": "20151111 14:09"}
    assert api.get("/query", **question) == (200, MACHINE_ANSWER)
    assert api.ask("POST", "/query", urlencode(question)) == (200, MACHINE_ANSWER)
    half = urlencode({"machine": MACHINE, "ts": "20151111"})
    assert api.ask("POST", "/query?_client_=machine_to_logids", half) == (200, MACHINE_ANSWER)


def test_logid_to_machines_answers_as_in_the_document(document: MetricsStore, api: Api) -> None:
    document.record([report("0000000007", NOON, 10, 20, machine=OTHER)])
    question = {"_client_": "logid_to_machines", "logid": "0000000007", "ts": "20151111 14"}
    expected = {
        "0000000007": [
            {OTHER: [{"20151111 14:09:35": {COUNT: 10, SIZE: 20}}]},
            {
                MACHINE: [
                    {"20151111 14:09:35": {COUNT: 2000, SIZE: 5000}},
                    {"20151111 14:09:40": {COUNT: 3000, SIZE: 6000}},
                ]
            },
        ]
    }
    assert api.get("/query", **question) == (200, expected)
    assert api.ask("POST", "/query", urlencode(question)) == (200, expected)


def test_the_one_minute_table_can_be_asked(document: MetricsStore, api: Api) -> None:
    question = {"_client_": "machine_to_logids", "machine": MACHINE, "ts": "20151111 14"}
    _, answer = api.get("/query", **question, table="1m")
    assert answer[MACHINE]["0000000007"] == {"20151111 14:09": [{COUNT: "5000", SIZE: "11000"}]}


def test_what_is_unknown_is_empty(api: Api) -> None:
    assert api.get("/query", _client_="machine_to_logids", machine=MACHINE, ts="20151111") == (
        200,
        {MACHINE: {}},
    )
    assert api.get("/query", _client_="logid_to_machines", logid="0000000001", ts="20151111") == (
        200,
        {"0000000001": []},
    )


GOOD = {"_client_": "machine_to_logids", "machine": MACHINE, "ts": "20151111"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"_client_": None}, "_client_ is missing"),
        ({"_client_": "all"}, "_client_ must be machine_to_logids or logid_to_machines"),
        ({"machine": None}, "machine is missing"),
        ({"machine": "web-01"}, "machine must be an md5"),
        ({"machine": MACHINE + ";2015"}, "machine must be an md5"),
        ({"ts": None}, "ts is missing"),
        ({"ts": ""}, "ts must be"),
        ({"ts": "2015"}, "ts must be"),
        ({"ts": "20151111 1"}, "ts must be"),
        ({"ts": "20151111 14:09:35;0"}, "ts must be"),
        ({"ts": "20151131"}, "ts is not a time"),
        ({"ts": "20151111 25"}, "ts is not a time"),
        ({"ts": "٢٠١٥١١١١"}, "ts must be"),
        ({"table": "1h"}, "table must be 5s or 1m"),
        ({"logid": "0000000007"}, "unknown parameter logid"),
        ({"_client_": "logid_to_machines", "machine": None, "logid": "7"}, "logid must be ten"),
    ],
)
def test_bad_parameters_get_400_with_a_reason(
    api: Api, change: dict[str, str | None], reason: str
) -> None:
    params = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    for status, answer in (
        api.get("/query", **params),
        api.ask("POST", "/query", urlencode(params)),
    ):
        assert status == 400
        assert answer["error"].startswith(reason)


def test_other_bad_requests_are_refused(api: Api) -> None:
    assert api.ask("GET", "/query?ts=20151111&ts=20151112")[1] == {"error": "ts is given twice"}
    status, answer = api.ask("GET", "/query?machine=%ff")
    assert (status, answer["error"][:25]) == (400, "parameters cannot be read")
    assert api.ask("GET", "/nowhere") == (404, {"error": "nothing at /nowhere"})
    as_json = api.ask("POST", "/query", json.dumps(GOOD), Content_Type="application/json")
    assert as_json[0] == 400
    assert "must be application/x-www-form-urlencoded" in as_json[1]["error"]
    assert api.ask("POST", "/query", "x", Content_Length="999999")[0] == 413
    assert api.get("/machines", ts="20151111")[0] == 400
    assert api.get("/host", machine=MACHINE)[1] == {"error": "ts is missing"}


def test_a_store_that_is_gone_is_503(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = StrataServer(tmp_path_factory.mktemp("gone") / "data").start()
    with redis.Redis(port=server.port, retry=Retry(NoBackoff(), 0)) as client:
        web = MetricsServer(MetricsStore(client))
        thread = threading.Thread(target=web.serve_forever, args=(0.01,))
        thread.start()
        assert Api(web).get("/machines") == (200, [])
        server.stop()
        status, answer = Api(web).get("/machines")
        web.shutdown()
        web.server_close()
        thread.join()
    assert status == 503
    assert answer["error"].startswith("the store does not answer")


# ---- the structures of the page


def test_host_log_and_time(document: MetricsStore, api: Api) -> None:
    document.name_machine(MACHINE, "web-01", 8454)
    document.record([report("0000000008", NOON + timedelta(seconds=10), 100, 200)])
    assert api.get("/host", machine=MACHINE, ts="20151111 14:09") == (
        200,
        {
            "name": "web-01:8454",
            "cCountSum": 100,
            "cSizeSum": 200,
            "cLogSum": 1,
            "logs": [
                _log("0000000007", (5000, 11000), (0, 0), ("14:09:35", "14:09:40")),
                _log("0000000008", (2600, 5700), (100, 200), ("14:09:40", "14:09:45")),
            ],
            "times": [
                _time("14:09:35", 1, 2000, 5000),
                _time("14:09:40", 2, 5500, 11500),
                _time("14:09:45", 1, 100, 200),
            ],
        },
    )


def _log(
    name: str, sums: tuple[int, int], now: tuple[int, int], times: tuple[str, str]
) -> dict[str, Any]:
    start, end = (f"20151111 {time}" for time in times)
    whole = {"name": name, "countSum": sums[0], "sizeSum": sums[1]}
    return {**whole, "cCount": now[0], "cSize": now[1], "startTime": start, "endTime": end}


def _time(time: str, logs: int, count: int, size: int) -> dict[str, Any]:
    return {"time": f"20151111 {time}", "logSum": logs, "countSum": count, "sizeSum": size}


def test_a_host_without_rows_is_all_zero() -> None:
    zeros = {"cCountSum": 0, "cSizeSum": 0, "cLogSum": 0}
    assert shapes.host("x", []) == {"name": "x", **zeros, "logs": [], "times": []}


def test_machines_are_listed_with_their_newest_time(store: MetricsStore, api: Api) -> None:
    load(store, minutes=1)
    store.name_machine(MACHINE, "silent", 1)
    found = api.get("/machines")[1]
    assert [known["name"] for known in found] == [
        "pay-01:8460",
        "silent:1",
        "web-01:8454",
        "web-02:8454",
    ]
    assert [known["latest"] for known in found] == [
        "20151111 14:09:40",
        "",
        *["20151111 14:09:40"] * 2,
    ]


# ---- sample data and the command line


def test_the_sample_is_the_same_for_the_same_seed() -> None:
    one, same, other = (list(sample.history(1, seed=seed)) for seed in (1, 1, 2))
    assert one == same != other


def test_the_command_line_loads_and_asks(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    server = ["--url", url]
    assert command_line.main([*server, "load", "--minutes", "1"]) == 0
    assert "108 reports of 3 machines" in capsys.readouterr().out
    ask = [*server, "query", "machine_to_logids", "web-02:8454"]
    assert command_line.main([*ask, "20151111 14:09:40"]) == 0
    assert list(json.loads(capsys.readouterr().out)[OTHER]) == list(sample.AGENTS[1].logids)
    assert command_line.main([*ask, "yesterday"]) == 2
    assert "ts must be" in capsys.readouterr().err
