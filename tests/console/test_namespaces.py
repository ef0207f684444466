"""A user of a namespace is shown the namespace alone, whoever else is logged in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.running import ConsoleProcess, Visitor, metrics_of
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient


@pytest.fixture
def consoles(tmp_path: Path) -> Iterator[ConsoleProcess]:
    """A server with a namespace and somebody who administers, and a console that records."""
    strata = StrataServer(tmp_path / "data").start()
    with strata.client() as client:
        rules = "on >secret ~* &* +@all"
        client.send("ACL", "SETUSER", "admin", *rules.split())
        client.send("ACL", "SETUSER", "tenant", *rules.split(), "namespace=shop")
        client.send("STRATA", "NAMESPACE", "QUOTA", "shop", "KEYS", "2")
        for number in range(50):
            client.send("SET", f"of-all:{number}", "x")
        client.send("AUTH", "tenant", "secret")
        client.send("SET", "mine", "x")
        client.send("SET", "expires", "x", "EX", "50")
    url = f"redis://admin:secret@127.0.0.1:{strata.port}"
    console = ConsoleProcess(tmp_path / "console", url, metrics_of(strata)).start()
    yield console
    assert "Traceback" not in console.output()
    console.stop()
    strata.stop()


def overview(visitor: Visitor) -> Any:
    return json.loads(visitor.get("/api/overview").body)


def tiles(visitor: Visitor) -> dict[str, tuple[str, str]]:
    return {one["name"]: (one["value"], one["more"]) for one in overview(visitor)["tiles"]}


def test_the_charts_of_the_server_are_not_for_a_namespace(consoles: ConsoleProcess) -> None:
    admin, tenant = consoles.visitor(), consoles.visitor()
    assert admin.log_in("admin", "secret").status == 303
    assert tenant.log_in("tenant", "secret").status == 303
    wait_until(lambda: len(overview(admin)["t"]) > 1, "samples were taken")
    assert tiles(admin)["Keys"][0] == "50"
    told = overview(tenant)
    assert (told["t"], told["series"], told["levels"]) == ([], {}, "")
    assert tiles(tenant)["Keys"] == ("2", "of 2")
    assert "Memory" not in tiles(tenant)
    assert "<figure" not in tenant.get("/").body
    assert "namespace shop" in tenant.get("/").text


def test_its_pages_hold_what_it_may_ask(consoles: ConsoleProcess) -> None:
    tenant = consoles.visitor()
    tenant.log_in("tenant", "secret")
    page = tenant.get("/keys")
    assert "mine" in page.text
    assert "of-all" not in page.text
    page = tenant.get("/key", key="mine")
    assert page.status == 200
    assert "/rows" not in page.body
    for path in ("/", "/large", "/slow", "/clients", "/channels", "/prompt"):
        assert tenant.get(path).status == 200, path
    assert 'href="/settings"' not in page.body


def test_who_is_bound_to_a_namespace_later_is_told_of_it_alone(consoles: ConsoleProcess) -> None:
    admin, other = consoles.visitor(), consoles.visitor()
    admin.log_in("admin", "secret")
    port = int(consoles.url.rpartition(":")[2])
    with WireClient(port) as client:
        client.send("ACL", "SETUSER", "late", "on", ">secret", "~*", "&*", "+@all")
        other.log_in("late", "secret")
        wait_until(lambda: len(overview(other)["t"]) > 1, "samples were taken")
        client.send("ACL", "SETUSER", "late", "namespace=shop")
    wait_until(lambda: other.get("/api/overview").status == 200, "it is connected again")
    assert overview(other)["series"] == {}
