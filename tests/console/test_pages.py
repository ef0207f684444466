"""The other pages: layout, what is large and hot, clients, channels, options, the prompt."""

from __future__ import annotations

import http.client
import json
import os
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from stratakv.console.pages.prompt import split
from tests.console import sample
from tests.console.running import ConsoleProcess, Page, Server, Visitor, run, url_of
from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S, wait_until


def typed(visitor: Visitor, line: str, db: str = "0") -> dict[str, Any]:
    """A line at the prompt."""
    page = visitor.post("/api/prompt", {"line": line, "db": db})
    told = json.loads(page.body)
    assert isinstance(told, dict)
    return told


def text_of(visitor: Visitor, line: str) -> str:
    return str(typed(visitor, line)["text"])


def test_every_page_answers_on_either_server(client: redis.Redis, visitor: Visitor) -> None:
    sample.fill(client, users=9)
    for path in ("/", "/keys", "/large", "/slow", "/clients", "/channels", "/settings", "/prompt"):
        page = visitor.get(path)
        assert page.status == 200, page.text
        assert f'<a aria-current="page" href="{path}"' in page.body or "aria-current" in page.body


def test_the_layout_shows_metas_and_rows(
    client: redis.Redis, visitor: Visitor, server: Server
) -> None:
    client.hset("user:1", "name", "ada<b>")
    page = visitor.get("/rows", key="user:1")
    if not isinstance(server, StrataServer):
        assert page.status == 400
        assert "Layout" not in visitor.get("/key", key="user:1").text
        return
    assert page.status == 200
    assert "00 00 00 01" in page.text  # the count
    assert "ff ff ff ff ff ff ff ff" in page.text  # no expire-time
    assert "ada<b>" in page.text
    assert "<b>ada" not in page.body
    assert "no policy matches" in page.text
    assert "The engine's tables have next to nothing of them" in page.text
    sent = {"key": "user:1", "version": "1"}
    assert visitor.follow("/rows/reencode", sent).status == 200
    wait_until(lambda: "1 changed, 0 failed (done)" in visitor.get("/rows", key="user:1").text)
    assert "hash v1" in visitor.get("/rows", key="user:1").text


def test_the_layout_tells_what_the_engine_takes(
    client: redis.Redis, visitor: Visitor, server: Server
) -> None:
    if not isinstance(server, StrataServer):
        return
    for part in range(20):
        client.hset("big", mapping={f"f{part}-{n}": os.urandom(1000) for n in range(200)})
    run(client, "STRATA", "COMPACT")
    page = wait_until(
        lambda: "element rows" in (page := visitor.get("/rows", key="big")).text and page,
        "the rows are in tables",
    )
    assert page
    told = re.search(r"element rows ([\d.]+) MB", page.text)
    assert told is not None, page.text
    assert 3.0 < float(told[1]) < 5.0


def test_a_survey_finds_what_is_large(client: redis.Redis, visitor: Visitor) -> None:
    sample.fill(client, users=50)
    client.set("huge:one", b"x" * 3_000_000)
    visitor.follow("/large/start", {"db": "0"})

    def done() -> Page | None:
        page = visitor.get("/large")
        return None if "data-refresh" in page.body else page

    page = wait_until(done, "the survey ends")
    assert page is not None
    assert f"{client.dbsize():,} of {client.dbsize():,} keys" in page.text
    heads = page.body.partition("Largest by bytes")[2]
    assert heads.index("huge:one") < heads.index("Largest by elements")
    assert page.body.index("huge:") < page.body.index("user:")  # the treemap begins with it
    assert "product:" in visitor.get("/large", prefix="product:").text


def test_the_slow_log_is_shown_and_emptied(client: redis.Redis, visitor: Visitor) -> None:
    client.config_set("slowlog-log-slower-than", 0)
    client.set("<b>slow</b>", "x")
    client.config_set("slowlog-log-slower-than", 10_000)
    page = visitor.get("/slow")
    assert "SET <b>slow</b> x" in page.text
    assert "<b>slow" not in page.body
    visitor.follow("/slow/clear", {})
    assert "SET <b>slow</b> x" not in visitor.get("/slow").text


def test_commands_are_told_by_the_time_they_took(client: redis.Redis, visitor: Visitor) -> None:
    client.config_resetstat()
    client.eval("for n = 1, 2000000 do end", 0)
    for number in range(100):
        client.set(f"k{number}", "v")
    with pytest.raises(redis.ResponseError):
        client.lpush("k1", "x")
    table = visitor.get("/slow").body.partition("Time by command")[2].partition("Slow log")[0]
    found = [re.findall(r">([^<>]+)</(?:td|code)>", row) for row in table.split("<tr>")[2:]]
    times = {row[0]: row[1:] for row in found}
    assert found[0][0] == "EVAL"
    assert times["SET"][:2] == ["100", "0"]
    assert times["LPUSH"][1] == "1"
    assert all("s" in shown for shown in times["SET"][2:6])


def test_a_client_is_shown_and_disconnected(
    client: redis.Redis, visitor: Visitor, server: Server
) -> None:
    with closing(redis.Redis(port=server.port, single_connection_client=True)) as other:
        other.client_setname("<i>name</i>")
        number = str(other.client_id())
        page = visitor.get("/clients", find="name=<i>")
        assert "<i>name</i>" in page.text
        assert "<i>name" not in page.body
        assert "Disconnect this client?" in visitor.post("/clients/kill", {"id": number}).text
        assert other.ping()
        visitor.follow("/clients/kill", {"id": number, "sure": "yes"})
        assert number not in [one["id"] for one in client.client_list()]


def test_a_channel_is_watched(visitor: Visitor, client: redis.Redis) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", visitor.port, timeout=HANG_S)
    try:
        path = "/api/channel?channel=news.*&kind=pattern"
        connection.request("GET", path, headers={"Host": visitor.host, "Cookie": visitor.cookie})
        answer = connection.getresponse()
        assert b"subscribed" in answer.readline()
        answer.readline()
        client.publish("news.<b>", '{"a": 1}')
        event = json.loads(answer.readline().removeprefix(b"data: "))
        assert (event["channel"], event["text"]) == ("news.<b>", '{\n  "a": 1\n}')
    finally:
        connection.close()
    page = visitor.follow("/channels/publish", {"channel": "<b>", "message": "x"})
    assert "Published to" in page.text
    assert 'value="&lt;b&gt;"' in page.body


def test_an_option_is_changed_and_checked(client: redis.Redis, visitor: Visitor) -> None:
    visitor.follow("/settings/set", {"name": "slowlog-max-len", "value": "77"})
    assert client.config_get("slowlog-max-len") == {"slowlog-max-len": "77"}
    page = visitor.post("/settings/set", {"name": "slowlog-max-len", "value": "many"})
    assert page.status == 400
    assert "many" in page.text or "argument" in page.text


def test_names_of_redis_stand_apart_from_the_options(visitor: Visitor, server: Server) -> None:
    own, mark, others = visitor.get("/settings").body.partition("<details")
    assert 'name="value"' in own
    assert "hz" in re.findall(r"<b[^>]*>([^<]+)</b>", others if mark else own)
    assert bool(mark) == isinstance(server, StrataServer)
    assert "write-buffer-bytes" in own or not mark
    found = visitor.get("/settings", find="hz").body
    assert ('<details open="True"' in found or "<details open" in found) == bool(mark)


def test_a_page_of_a_key_is_one_of_the_keys(client: redis.Redis, visitor: Visitor) -> None:
    client.hset("h", "f", "v")
    for path in ("/keys", "/key?key=h", "/key/element?key=h&name=f", "/key/open"):
        here = re.search(r'<a href="([^"]+)" aria-current="page"', visitor.get(path).body)
        assert here is not None, path
        assert here[1] == "/keys"


def test_a_password_in_the_options_is_not_shown(client: redis.Redis, visitor: Visitor) -> None:
    client.config_set("masterauth", "hidden-word")
    try:
        assert "hidden-word" not in visitor.get("/settings").body
    finally:
        client.config_set("masterauth", "")


def test_the_prompt_shows_replies_as_redis_cli(client: redis.Redis, visitor: Visitor) -> None:
    assert text_of(visitor, r'SET "a b" "\xff\n"') == '"OK"'
    assert client.get("a b") == b"\xff\n"
    assert text_of(visitor, "GET 'a b'") == r'"\xff\n"'
    client.rpush("l", "x", "y")
    assert text_of(visitor, "LRANGE l 0 -1") == '1) "x"\n2) "y"'
    assert text_of(visitor, "GET none") == "(nil)"
    assert typed(visitor, "NO SUCH")["failed"] is True
    client.rpush("long", *range(5000))
    assert len(text_of(visitor, "LRANGE long 0 -1").splitlines()) <= 502
    client.select(3)
    client.set("three", "3")
    assert typed(visitor, "GET three", "3")["text"] == '"3"'


@pytest.mark.parametrize(
    "line", ["SUBSCRIBE x", "MONITOR", "MULTI", "BLPOP l 0", "AUTH x", "client reply off", "", "'x"]
)
def test_what_waits_or_changes_the_connection_is_not_sent(visitor: Visitor, line: str) -> None:
    page = visitor.post("/api/prompt", {"line": line})
    assert page.status in (400, 403)
    assert text_of(visitor, "PING") == '"PONG"'


def test_without_write_the_prompt_only_reads(
    client: redis.Redis, server: Server, tmp_path: Path
) -> None:
    client.set("k", "v")
    console = ConsoleProcess(tmp_path / "console", url_of(server)).start()
    try:
        visitor = console.visitor()
        visitor.log_in("admin", "secret")
        assert text_of(visitor, "GET k") == '"v"'
        assert "redis_version" in text_of(visitor, "INFO server")
        for line in (
            "DEL k",
            "FLUSHALL",
            "CONFIG SET maxclients 9",
            "EVAL 'return 1' 0",
            "SHUTDOWN",
        ):
            assert visitor.post("/api/prompt", {"line": line}).status == 400, line
        assert client.get("k") == b"v"
        for path in ("/settings/set", "/slow/clear", "/clients/kill", "/channels/publish"):
            assert visitor.post(path, {"name": "x", "sure": "yes"}).status == 400
    finally:
        console.stop()


def test_help_comes_from_the_server(visitor: Visitor) -> None:
    told = json.loads(visitor.get("/api/commands").body)
    assert {"GET", "CONFIG SET"} <= set(told["commands"])
    docs = json.loads(visitor.get("/api/docs", name="GET").body)
    assert docs["syntax"] == "key"
    assert docs["summary"]


def test_the_charts_have_numbers(client: redis.Redis, visitor: Visitor, server: Server) -> None:
    def series() -> dict[str, list[float]] | None:
        for _ in range(50):
            client.set("k", "v")
        told = json.loads(visitor.get("/api/overview").body)
        found = told["series"]
        is_there = len(told["t"]) > 2 and max(filter(None, found.get("ops.string", [])), default=0)
        return found if is_there else None

    found = wait_until(series, "samples with operations")
    assert found is not None
    assert "latency.p99" in found
    assert ("lag.p99" in found) == isinstance(server, StrataServer)


def test_words_are_split_as_in_a_shell() -> None:
    assert split(r"""SET 'a b' "c\x00" d""") == [b"SET", b"a b", b"c\x00", b"d"]
    with pytest.raises(ValueError, match="quotation"):
        split("GET 'x")


def test_who_has_no_rights_is_refused_page_by_page(
    client: redis.Redis, console: ConsoleProcess
) -> None:
    visitor = console.visitor()
    visitor.log_in("shop", "secret")
    for path in ("/", "/clients", "/settings"):
        assert visitor.get(path).status == 403, path
    assert "NOPERM" in text_of(visitor, "GET other")
    assert text_of(visitor, "GET shop:1") == "(nil)"
    run(client, "PING")
