"""The rules and the dashboard of deploy/, against the pages of running servers; and, where there is
one, in a real Prometheus that scrapes them.
"""

from __future__ import annotations

import json
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.harness.disks import limit_files
from tests.harness.servers import ROOT, Process, RedisServer, StrataServer, free_port
from tests.harness.waiting import HANG_S, wait_until
from tests.proxy.test_metrics import samples
from tests.replication.fleet import follow
from tests.tier.servers import start_strata

ALERTS = yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((ROOT / "deploy/grafana/dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
OF_THE_TARGET = {"instance", "job"}
"""Labels that Prometheus adds."""


class Fleet(NamedTuple):
    """A master with a Redis tier, and its replica."""

    tier: RedisServer
    master: StrataServer
    replica: StrataServer

    @property
    def all(self) -> tuple[StrataServer, StrataServer]:
        return self.master, self.replica


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("monitored")
    tier = RedisServer(directory / "redis").start()
    master = start_strata(directory / "one", tier, "--zset-encoding", "1", "--hash-encoding", "2")
    with master.client() as client:
        client.send("SET", "k", "v")
    master.restart()  # what the log had is a table of a level then
    replica = StrataServer(directory / "two").start()
    follow(replica, master)
    use(master)
    yield Fleet(tier, master, replica)
    for server in (replica, master, tier):
        server.stop()


def use(server: StrataServer) -> None:
    """Something of everything that metrics with labels are about."""
    with server.client() as client:
        client.send("ZADD", "z", 1, "a", 2, "b")
        client.send("ZRANGE", "z", 0, -1)
        client.send("HSET", "h", "f", "v")
        client.send("HGETALL", "h")
        client.send("SADD", "s", "m")
        client.send("AUTH", "nobody", "wrong")
        assert client.send("WAIT", 1, 0).frame.number == 1


def labels_by_name(fleet: Fleet) -> dict[str, set[tuple[str, str]]]:
    """Of every series on the pages: its labels with the values that were seen."""
    found: dict[str, set[tuple[str, str]]] = {}
    for server in fleet.all:
        for name, labels in samples(server):
            found.setdefault(name, set()).update(labels)
    return found


def asked(expression: str) -> dict[str, list[tuple[str, str]]]:
    """The series that an expression names, and the labels that it asks for."""
    found = re.findall(r"\b((?:stratakv|process)_[a-z_]+)(?:\{([^}]*)\})?", expression)
    return {name: re.findall(r'(\w+)="([^"]*)"', selector) for name, selector in found}


def grouped(expression: str) -> set[str]:
    """The labels that an expression keeps."""
    return {
        word for group in re.findall(r"by \(([^)]*)\)", expression) for word in group.split(", ")
    }


def check(expression: str, shown: set[str], known: dict[str, set[tuple[str, str]]]) -> None:
    """All that an expression and its texts name is there."""
    series = asked(expression)
    assert set(series) <= set(known), expression
    for name, selectors in series.items():
        assert set(selectors) <= known[name], expression
    labels = {label for name in series for label, _ in known[name]} | OF_THE_TARGET
    assert grouped(expression) | shown <= labels, expression


def test_every_alert_asks_for_what_there_is(fleet: Fleet) -> None:
    known = labels_by_name(fleet)
    for rule in ALERTS:
        texts = " ".join(rule["annotations"].values())
        check(rule["expr"], set(re.findall(r"\$labels\.(\w+)", texts)), known)
    with_metrics = [rule for rule in ALERTS if asked(rule["expr"])]
    assert len(with_metrics) == len(ALERTS) - 1, "but for `up`, which is Prometheus's own"


def test_every_alert_says_what_to_do() -> None:
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert len(rule["annotations"]["action"].split()) > 8, rule["alert"]
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)


def test_every_panel_asks_for_what_there_is(fleet: Fleet) -> None:
    known = labels_by_name(fleet)
    for panel in PANELS:
        for target in panel["targets"]:
            check(target["expr"], set(re.findall(r"{{(\w+)}}", target["legendFormat"])), known)
            assert asked(target["expr"]), target
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_panels_do_not_lie_upon_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


# in a real Prometheus


class Prometheus(Process):
    """One that asks servers every second, and knows the rules of deploy/ without their patience."""

    def start(self, servers: tuple[StrataServer, ...]) -> Prometheus:
        (self.dir / "rules.yml").write_text(
            re.sub(r"for: \w+", "for: 0s", (ROOT / "deploy/alerts.yml").read_text())
        )
        config = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = ["rules.yml"]
        targets = [f"127.0.0.1:{server.http_port}" for server in servers]
        config["scrape_configs"][0]["static_configs"] = [{"targets": targets}]
        (self.dir / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.port = free_port()
        self._spawn(
            [
                *("prometheus", f"--config.file={self.dir}/prometheus.yml"),
                f"--storage.tsdb.path={self.dir}/data",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        )
        wait_until(lambda: len(self.ask("up")) == len(servers), self.output)
        return self

    def ask(self, expression: str) -> list[Any]:
        """The series that an expression gives now; none while it starts."""
        query = urllib.parse.urlencode({"query": expression})
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{query}"
        try:
            with urllib.request.urlopen(url, timeout=HANG_S) as reply:
                result: list[Any] = json.load(reply)["data"]["result"]
                return result
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
        except urllib.error.URLError:
            pass
        return []

    def fires(self, alert: str) -> bool:
        return bool(self.ask(f'ALERTS{{alertname="{alert}",alertstate="firing"}}'))


@pytest.fixture
def prometheus(tmp_path: Path, fleet: Fleet) -> Iterator[Prometheus]:
    if shutil.which("prometheus") is None:
        pytest.skip("there is no prometheus here (Debian's package has it)")
    process = Prometheus(tmp_path / "prometheus")
    try:
        yield process.start(fleet.all)
    finally:
        process.kill9()


@pytest.mark.application
def test_panels_show_something_and_alerts_fire(prometheus: Prometheus, fleet: Fleet) -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
            wait_until(lambda text=text: prometheus.ask(text), f"nothing at {text}")  # type: ignore[misc]
    assert not prometheus.fires("StrataKVRefusesWrites")
    limit_files(fleet.master, 1)
    with fleet.master.client() as client:
        assert client.send("SET", "k", "v").raw.startswith(b"-MISCONF ")
    wait_until(lambda: prometheus.fires("StrataKVRefusesWrites"), "a full disk is not told")
    assert not prometheus.fires("StrataKVTierBypassed")
    fleet.tier.stop()
    wait_until(lambda: prometheus.fires("StrataKVTierBypassed"), "a lost tier is not told")
    assert not prometheus.fires("StrataKVMasterLinkDown")
    fleet.master.kill9()
    for alert in ("StrataKVDown", "StrataKVMasterLinkDown"):
        wait_until(lambda alert=alert: prometheus.fires(alert), alert)  # type: ignore[misc]
