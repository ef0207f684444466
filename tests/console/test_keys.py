"""Keys and values of every type: browsed, paged, and changed by those who may."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from urllib.parse import quote

import msgpack
import pytest
import redis

from stratakv.console import forms, saves, values
from stratakv.console.client import Client, Login
from stratakv.console.pages.string_value import EDITED
from stratakv.console.replies import Refused
from stratakv.console.values import Place
from stratakv.storage.cache.address import parse_address
from tests.console import sample
from tests.console.running import ConsoleProcess, Page, Server, Visitor, names_of, run, url_of

MADE_FROM = re.compile(r'name="made-from" value="([^"]+)"')
NASTY = b"<script>alert('x')</script>\"&\xff\x00\n"


def rows(page: Page) -> list[list[str]]:
    """The cells of the tables."""
    found = re.findall(r"<tr>(.*?)</tr>", page.body, re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in found]
    return [[Page(0, page.headers, cell).text.strip() for cell in row] for row in cells if row]


def form_of(visitor: Visitor, key: str, name: str | None = None) -> dict[str, str]:
    """What the form to edit a value carries."""
    if name is None:
        page, fields = visitor.get("/key", key=key), {"key": key}
    else:
        page, fields = visitor.get("/key/element", key=key, name=name), {"key": key, "name": name}
    found = MADE_FROM.search(page.body)
    assert found is not None, page.text
    return {**fields, "made-from": found[1]}


def test_keys_are_shown_by_prefix(client: redis.Redis, visitor: Visitor) -> None:
    sample.fill(client, users=30)
    page = visitor.get("/keys")
    folders = dict(
        re.findall(r'class="name">([^<]+)</span><span class="count">([\d,]+)', page.body)
    )
    assert folders["user:"] == "30"
    assert folders["product:"] == "240"
    assert ["greeting", "string", "11 B", "no expiry"] in rows(page)
    inner = visitor.get("/keys", prefix="user:")
    assert len(rows(inner)) == 30
    products = {row[0]: row[2] for row in rows(visitor.get("/keys", prefix="product:7:"))}
    assert products == {"product:7:image": "900 B", "product:7:json": "68 B"}


def test_a_pattern_a_type_and_a_database_narrow_them(client: redis.Redis, visitor: Visitor) -> None:
    client.mset({"a1": 1, "a2": 2, "b1": 3})
    client.rpush("a3", "x")
    assert [row[0] for row in rows(visitor.get("/keys", match="a*", type="list"))] == ["a3"]
    assert sorted(row[0] for row in rows(visitor.get("/keys", match="a*"))) == ["a1", "a2", "a3"]
    assert "no such keys" in visitor.get("/keys", db=3).text
    assert visitor.get("/keys", db=99).status == 400
    assert visitor.get("/keys", type="none").status == 400


def test_a_pattern_goes_on_below_a_prefix(client: redis.Redis, visitor: Visitor) -> None:
    client.mset({"user:1": 1, "user:2": 2, "user:x:1": 3, "other:1": 4})
    page = visitor.get("/keys", match="*1")
    folders = dict(
        re.findall(r'class="name">([^<]+)</span><span class="count">([\d,]+)', page.body)
    )
    assert folders == {"user:": "2", "other:": "1"}
    inner = visitor.get("/keys", match="*1", prefix="user:")
    assert [row[0] for row in rows(inner)] == ["user:1"]
    assert "2 keys found: that is all" in " ".join(inner.text.split()).replace(" :", ":")


def test_many_keys_come_some_at_a_time(client: redis.Redis, visitor: Visitor) -> None:
    client.mset({f"k{n}": n for n in range(3000)})
    page = visitor.get("/keys", view="list")
    seen: set[str] = set()
    while "Look at more" in page.text:
        seen.update(row[0] for row in rows(page))
        page = visitor.get("/keys", view="list", more=1)
    seen.update(row[0] for row in rows(page))
    assert len(seen) == 3000


def test_json_msgpack_and_binary_are_shown_as_such(client: redis.Redis, visitor: Visitor) -> None:
    client.set("json", json.dumps({"a": [1, "ä"]}))
    client.set("packed", msgpack.packb({"b": 2}))
    client.set("binary", bytes(range(256)))
    assert '"ä"' in visitor.get("/key", key="json").text
    assert '"b": 2' in visitor.get("/key", key="packed").text
    assert "000000f0  f0 f1 f2" in visitor.get("/key", key="binary").text
    assert r"\x00\x01" in visitor.get("/key", key="binary", as_="text").text
    assert "This is not msgpack." in visitor.get("/key", key="json", as_="msgpack").text


def test_an_element_that_is_no_text_is_shown_in_hex(client: redis.Redis, visitor: Visitor) -> None:
    client.hset("h", mapping={"image": bytes(range(256)), "text": "word " * 200, "packed": "x"})
    page = visitor.get("/key", key="h")
    assert "000000f0  f0 f1 f2" in page.text
    assert "word " * 200 in page.text
    assert "\\xf0" not in page.text


def test_a_long_string_is_read_in_parts(client: redis.Redis, visitor: Visitor) -> None:
    client.set("long", b"x" * 300_000 + b"the end")
    page = visitor.get("/key", key="long")
    assert len(page.body) < 60_000
    assert "bytes 0 to 16,384 of 300,007" in page.text
    assert "the end" in visitor.get("/key", key="long", at=299_900).text


@pytest.mark.parametrize("kind", ["hash", "set", "zset", "list", "stream"])
def test_a_large_collection_is_read_in_pages(
    client: redis.Redis, visitor: Visitor, kind: str
) -> None:
    count = 2000
    pipe = client.pipeline()
    for n in range(count):
        words: dict[str, list[str | int]] = {
            "hash": ["HSET", kind, f"f{n}", n],
            "set": ["SADD", kind, f"m{n}"],
            "zset": ["ZADD", kind, n, f"m{n}"],
            "list": ["RPUSH", kind, n],
            "stream": ["XADD", kind, f"1-{n + 1}", "n", n],
        }
        run(pipe, *words[kind])
    pipe.execute()
    client.config_resetstat()
    page = visitor.get("/key", key=kind)
    seen: set[str] = set()
    for _ in range(count):
        found = rows(page)
        assert len(found) < count / 2
        seen.update(row[0] for row in found)
        next_page = re.search(r'href="([^"]+)"[^>]*>Next', page.body)
        if next_page is None:
            break
        page = visitor.get(next_page[1].replace("&amp;", "&"))
    assert len(seen) == count
    used = client.info("commandstats")
    assert not {"cmdstat_hgetall", "cmdstat_smembers"} & set(used)


def test_a_member_is_found_by_a_part_of_its_name(client: redis.Redis, visitor: Visitor) -> None:
    client.hset("h", mapping={f"field{n}": n for n in range(1500)})
    assert rows(visitor.get("/key", key="h", find="eld1499"))[0][:2] == ["field1499", "1499"]


def test_a_string_is_edited_and_keeps_its_time(client: redis.Redis, visitor: Visitor) -> None:
    client.set("s", "old", ex=1000)
    page = visitor.follow(
        "/key/set", {**form_of(visitor, "s"), "value": "new\r\nline", "form": "text"}
    )
    assert "Saved." in page.text
    assert client.get("s") == b"new\nline"
    assert client.ttl("s") > 0
    form = form_of(visitor, "s")
    visitor.follow("/key/set", {**form, "value": r"\xff\n", "form": "escaped"})
    assert client.get("s") == b"\xff\n"
    form = form_of(visitor, "s")
    client.delete("s")
    refusal = visitor.post("/key/set", {**form, "value": "x"})
    assert (refusal.status, "the key is gone" in refusal.text) == (400, True)
    assert not client.exists("s")


def refused(visitor: Visitor, path: str, fields: dict[str, str]) -> bool:
    """Whether a save is told that somebody was faster."""
    page = visitor.post(path, {**fields, "value": "7"})
    return page.status == 400 and "somebody has changed the value" in page.text


def test_a_value_that_has_changed_meanwhile_is_not_overwritten(
    client: redis.Redis, visitor: Visitor
) -> None:
    client.set("s", "old")
    client.hset("h", mapping={"f": "old", "other": "1"})
    client.rpush("l", "a", "b")
    client.zadd("z", {"m": 1, "n": 1})
    names = {"h": "f", "l": "1", "z": "m"}
    forms_ = {key: form_of(visitor, key, name) for key, name in names.items()}
    of_string = form_of(visitor, "s")
    client.set("s", "theirs")
    client.hset("h", "f", "theirs")
    client.lpush("l", "first")
    client.zadd("z", {"m": 2})
    assert refused(visitor, "/key/set", of_string)
    assert [key for key in names if not refused(visitor, "/key/put", forms_[key])] == []
    assert (client.get("s"), client.hget("h", "f")) == (b"theirs", b"theirs")
    assert (client.lrange("l", 0, -1), client.zscore("z", "m")) == ([b"first", b"a", b"b"], 2)
    client.zrem("z", "m")
    assert refused(visitor, "/key/put", forms_["z"])
    assert client.zrange("z", 0, -1) == [b"n"]


def test_a_change_beside_the_edited_element_does_no_harm(
    client: redis.Redis, visitor: Visitor
) -> None:
    client.hset("h", mapping={"f": "old", "other": "1"})
    form = form_of(visitor, "h", "f")
    client.hset("h", "other", "2")
    visitor.follow("/key/put", {**form, "value": "new"})
    assert client.hgetall("h") == {b"f": b"new", b"other": b"2"}


def test_a_string_that_grew_or_became_another_type_is_not_overwritten(
    client: redis.Redis, visitor: Visitor
) -> None:
    client.set("s", "x" * EDITED)
    form = form_of(visitor, "s")
    client.append("s", "y")
    assert refused(visitor, "/key/set", form)
    client.delete("s")
    client.rpush("s", "a")
    assert "another type" in visitor.post("/key/set", {**form, "value": "z"}).text
    assert client.lrange("s", 0, -1) == [b"a"]


def test_who_writes_between_the_look_and_the_save_wins(server: Server, client: redis.Redis) -> None:
    """The moment that no form can hit: the value changes when it has just been read."""
    client.set("s", "old")
    place, address = Place(0, b"s"), parse_address(url_of(server))

    async def current(own: Client) -> bytes:
        found = await values.beginning(own, place, EDITED)
        client.set("s", "theirs")
        return found

    async def save() -> None:
        words = ("SET", "s", "mine")
        shared = Client(address, Login())
        await saves.replace(shared, place, saves.digest(b"old"), [words], current)

    with pytest.raises(Refused, match="somebody has changed"):
        asyncio.run(save())
    assert client.get("s") == b"theirs"


def test_elements_are_added_put_and_dropped(client: redis.Redis, visitor: Visitor) -> None:
    client.hset("h", "f", "1")
    client.rpush("l", "a")
    client.sadd("s", "a")
    client.zadd("z", {"a": 1})
    client.xadd("x", {"f": "1"}, id="1-1")
    visitor.follow("/key/add", {"key": "h", "name": "g", "value": "2"})
    visitor.follow("/key/put", {**form_of(visitor, "h", "f"), "value": "3"})
    assert client.hgetall("h") == {b"f": b"3", b"g": b"2"}
    visitor.follow("/key/add", {"key": "l", "value": "b"})
    visitor.follow("/key/add", {"key": "l", "value": "c", "end": "left"})
    visitor.follow("/key/put", {**form_of(visitor, "l", "1"), "value": "d"})
    assert client.lrange("l", 0, -1) == [b"c", b"d", b"b"]
    visitor.follow("/key/add", {"key": "z", "name": "b", "value": "2.5"})
    visitor.follow("/key/put", {**form_of(visitor, "z", "a"), "value": "9"})
    assert client.zrange("z", 0, -1, withscores=True) == [(b"b", 2.5), (b"a", 9.0)]
    visitor.follow("/key/add", {"key": "s", "value": "b"})
    visitor.follow("/key/add", {"key": "x", "name": "g", "value": "2"})
    assert client.xlen("x") == 2
    drops = {"h": "g", "s": "a", "z": "b", "x": "1-1"}
    for key, name in drops.items():
        asked = visitor.post("/key/drop", {"key": key, "name": name})
        assert "Remove" in asked.text
        visitor.follow("/key/drop", {"key": key, "name": name, "sure": "yes"})
    left = client.hkeys("h"), client.smembers("s"), client.zrange("z", 0, -1), client.xlen("x")
    assert left == ([b"f"], {b"b"}, [b"a"], 1)


def test_an_element_of_a_list_is_removed_if_it_is_still_that(
    client: redis.Redis, visitor: Visitor
) -> None:
    client.rpush("l", "a", "b", "a", "c")
    found = re.findall(r'action="/key/drop".*?</form>', visitor.get("/key", key="l").body)
    made_from = MADE_FROM.search(found[2])
    assert made_from is not None
    fields = {"key": "l", "name": "2", "made-from": made_from[1]}
    assert "Remove" in visitor.post("/key/drop", fields).text
    visitor.follow("/key/drop", {**fields, "sure": "yes"})
    assert client.lrange("l", 0, -1) == [b"a", b"b", b"c"]
    assert refused(visitor, "/key/drop", {**fields, "sure": "yes"})
    assert client.lrange("l", 0, -1) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("kind", ["string", "hash", "list", "set", "zset", "stream"])
def test_a_key_is_made_where_there_is_none(
    client: redis.Redis, visitor: Visitor, kind: str
) -> None:
    link = re.search(r'href="(/key/new[^"]*)"', visitor.get("/keys", prefix="new:").body)
    assert link is not None
    assert 'value="new:"' in visitor.get(link[1].replace("&amp;", "&")).body
    fields = {"key": "new:one", "type": kind, "name": "n", "value": "7"}
    assert "Made." in visitor.follow("/key/new", fields).text
    assert client.type("new:one") == kind.encode()
    page = visitor.post("/key/new", fields)
    assert (page.status, "a key of that name" in page.text) == (400, True)
    assert visitor.post("/key/new", {**fields, "key": "x", "type": "none"}).status == 400
    assert names_of(client) == [b"new:one"]


def test_what_cannot_be_undone_is_asked_first(client: redis.Redis, visitor: Visitor) -> None:
    client.mset({"k": 1, "other": 2})
    for path, fields in (
        ("/key/delete", {}),
        ("/key/rename", {"to": "new"}),
        ("/key/expire", {"seconds": "100"}),
    ):
        page = visitor.post(path, {"key": "k", **fields})
        assert (page.status, "Are you sure?" in page.text) == (200, True)
    assert (client.get("k"), client.ttl("k")) == (b"1", -1)
    sure = {"key": "k", "sure": "yes"}
    visitor.follow("/key/expire", {**sure, "seconds": "100"})
    assert 0 < client.ttl("k") <= 100
    visitor.follow("/key/persist", {"key": "k"})
    assert client.ttl("k") == -1
    assert visitor.post("/key/rename", {**sure, "to": "other"}).status == 400
    page = visitor.follow("/key/rename", {**sure, "to": "new"})
    assert "new" in page.text
    visitor.follow("/key/delete", {"key": "new", "sure": "yes"})
    assert client.keys() == [b"other"]


def test_names_and_values_are_text_whatever_they_hold(
    client: redis.Redis, visitor: Visitor
) -> None:
    client.set(NASTY, NASTY)
    client.hset(b"h" + NASTY, NASTY, NASTY)
    client.sadd(b"s" + NASTY, NASTY)
    client.zadd(b"z" + NASTY, {NASTY: 1})
    client.rpush(b"l" + NASTY, NASTY)
    client.xadd(b"x" + NASTY, {NASTY: NASTY})
    pages = [visitor.get("/keys"), visitor.get("/keys", match=forms.escaped(NASTY))]
    for key in names_of(client):
        shown = forms.escaped(key)
        pages += [visitor.get("/key", key=shown), visitor.get("/key", key=shown, find=shown)]
    for page in pages:
        assert page.status == 200
        assert "<script>" not in page.body
        assert page.body.count("<script ") == 2
    visitor.follow("/key/delete", {"key": forms.escaped(NASTY), "sure": "yes"})
    assert not client.exists(NASTY)


def test_who_may_only_read_is_shown_no_forms_and_refused(
    client: redis.Redis, console: ConsoleProcess
) -> None:
    client.set("k", "v")
    visitor = console.visitor()
    visitor.log_in("reader", "secret")
    assert "New key" not in visitor.get("/keys").text
    page = visitor.get("/key", key="k")
    assert "You may not change this key." in page.text
    assert "<textarea" not in page.body
    answer = visitor.post("/key/delete", {"key": "k", "sure": "yes"})
    assert (answer.status, "NOPERM" in answer.text) == (403, True)
    assert client.get("k") == b"v"


def test_without_write_nothing_is_changed_by_anybody(
    client: redis.Redis, server: Server, tmp_path: Path
) -> None:
    client.set("k", "v")
    console = ConsoleProcess(tmp_path / "console", url_of(server)).start()
    try:
        visitor = console.visitor()
        visitor.log_in("admin", "secret")
        assert "Delete" not in visitor.get("/key", key="k").text
        assert "New key" not in visitor.get("/keys").text
        assert visitor.get("/key/new").status == 400
        answer = visitor.post("/key/delete", {"key": "k", "sure": "yes"})
        assert (answer.status, "--write" in answer.text) == (400, True)
        assert client.get("k") == b"v"
    finally:
        console.stop()


def test_a_key_that_is_gone_or_no_key_says_so(client: redis.Redis, visitor: Visitor) -> None:
    assert visitor.get("/key", key="none").status == 404
    assert visitor.get("/key", key="\\q").status == 400
    client.rpush("l", "a")
    assert visitor.get("/key", key="l", at="x").status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/key?db=x",
        "/key?db=-1",
        "/keys?db=\u0663x",
        "/api/overview?range=x",
        "/api/overview?after=x",
    ],
)
def test_an_address_that_cannot_be_is_told_so(visitor: Visitor, path: str) -> None:
    assert visitor.get(quote(path, safe="/?=&")).status == 400


def test_a_form_without_its_fields_breaks_nothing(client: redis.Redis, visitor: Visitor) -> None:
    client.set("k", "v")
    for path in ("/key/set", "/key/put", "/key/add", "/key/drop", "/key/rename", "/key/expire"):
        for fields in ({}, {"key": "k", "sure": "yes"}, {"key": "\\q"}, {"db": "x"}):
            assert visitor.post(path, fields).status in (200, 303, 400), path
