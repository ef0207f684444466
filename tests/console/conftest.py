"""A Redis and a StrataKV with users of different rights, each with two consoles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import redis

from tests.console.running import ConsoleProcess, Server, Visitor, metrics_of, run, url_of
from tests.harness.servers import RedisServer, StrataServer

USERS = {
    "admin": "on >secret ~* &* +@all",
    "reader": "on >secret ~* &* +@read +@connection -@dangerous +info +acl|whoami +acl|dryrun",
    "shop": "on >secret ~shop:* resetchannels +@all -@admin -@dangerous +acl|dryrun +acl|whoami",
}


@pytest.fixture(scope="session", params=["strata", "redis"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server of either kind; its default user needs no password."""
    if request.param == "redis":
        request.getfixturevalue("redis_server")  # is there one?
    make = StrataServer if request.param == "strata" else RedisServer
    started = make(tmp_path_factory.mktemp(request.param) / "data").start()
    with closing(redis.Redis(port=started.port)) as client:
        for name, rules in USERS.items():
            run(client, "ACL", "SETUSER", name, *rules.split())
    yield started
    started.stop()


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with closing(redis.Redis(port=server.port)) as client:
        client.flushall()
        yield client


@pytest.fixture(scope="session")
def console(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """One that may write."""
    place = tmp_path_factory.mktemp("console") / "console"
    started = ConsoleProcess(place, url_of(server), ["--write", *metrics_of(server)]).start()
    yield started
    assert "Traceback" not in started.output()
    started.stop()


@pytest.fixture
def visitor(console: ConsoleProcess) -> Visitor:
    """Who may do everything."""
    visitor = console.visitor()
    assert visitor.log_in("admin", "secret").status == 303
    return visitor
