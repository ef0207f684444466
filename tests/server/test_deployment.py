"""docker-compose and what it mounts: only options that exist, a password, and the loopback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from stratakv import options
from tests.harness.servers import ROOT

VARIABLES = {"STRATAKV_" + name.replace("-", "_").upper() for name in options.declared()}


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


COMPOSE = read_yaml(ROOT / "docker-compose.yml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_every_variable_is_an_option() -> None:
    for file in ("docker-compose.yml", "Dockerfile"):
        found = set(re.findall(r"STRATAKV_[A-Z_]+", (ROOT / file).read_text()))
        assert found - VARIABLES <= {"STRATAKV_COMPILE", "STRATAKV_CONSOLE_URL"}, file
    environment = SERVICES["stratakv"]["environment"]
    given = {name: text for name, text in environment.items() if "${" not in text}
    assert options.load({}, {**given, "STRATAKV_ZSET_ENCODING": "1"}, None).cache_url


def test_a_password_is_required_and_comes_from_outside() -> None:
    password = SERVICES["stratakv"]["environment"]["STRATAKV_REQUIREPASS"]
    assert re.fullmatch(r"\$\{STRATAKV_REQUIREPASS:\?[^}]+\}", password)


def test_every_port_is_published_on_the_loopback_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    published = [port.split(":")[1] for port in ports]
    assert {"6380", "8380", "9121", "9090", "3000"} <= set(published)
    assert len(set(published)) == len(published)


def test_the_nodes_of_a_cluster_say_where_they_are_published() -> None:
    nodes = [service for name, service in SERVICES.items() if name.startswith("node-")]
    assert len(nodes) == 3
    for node in nodes:
        given = {name: str(text) for name, text in node["environment"].items()}
        chosen = options.load({}, {**given, "STRATAKV_REQUIREPASS": "x"}, None)
        assert (chosen.engine, chosen.hbase_groups) == ("hbase", 12)
        assert node["ports"] == [f"127.0.0.1:{chosen.cluster_announce_port}:6380"]
        assert chosen.hbase_zookeeper.partition(":")[0] in SERVICES
        assert set(node["depends_on"]) <= SERVICES.keys()


def test_the_cache_tier_is_a_service_of_the_file() -> None:
    url = SERVICES["stratakv"]["environment"]["STRATAKV_CACHE_URL"]
    host = re.fullmatch(r"redis://(\w+):6379/0", url)
    assert host is not None
    assert host[1] in SERVICES
    assert host[1] in SERVICES["stratakv"]["depends_on"]


def test_what_is_mounted_is_there_and_points_at_the_services() -> None:
    mounted = [
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    ]
    assert len(mounted) == 5
    assert all((ROOT / path).is_file() for path in mounted)
    source = read_yaml(ROOT / "deploy/grafana/datasources.yml")["datasources"][0]
    assert source["url"] == "http://prometheus:9090"
    provider = read_yaml(ROOT / "deploy/grafana/dashboards.yml")["providers"][0]
    dashboard = next(v for v in SERVICES["grafana"]["volumes"] if "dashboard.json" in v)
    assert dashboard.split(":")[1].startswith(provider["options"]["path"] + "/")
    scraped = read_yaml(ROOT / "deploy/prometheus.yml")["scrape_configs"][0]
    assert scraped["static_configs"][0]["targets"] == ["stratakv:9121"]
