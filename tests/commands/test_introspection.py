"""COMMAND: every fact that redis-server tells of a command, ours tells too."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.table import syntax
from stratakv.proxy.table.registry import TABLE, every_command
from stratakv.proxy.table.summaries import docs_in_source
from stratakv.proxy.table.syntax import Argument
from tests.commands.test_connection import calls, same_bytes
from tests.differential.inventory import LATER
from tests.harness.wire import Frame, WireClient

FIELDS = ("name", "arity", "flags", "first", "last", "step", "categories", "tips", "key specs")
ONLY_OURS = (
    {"client|setinfo"}
    | {f"strata|{word.decode()}" for word in TABLE[b"strata"].subcommands}
    | {"strata", *(name.lower() for name in LATER)}
)
NEWER = {("zrank", "arity"), ("zrevrank", "arity")}
"""Facts that Redis 7.2 changed: WITHSCORE."""

CALLS = """
COMMAND COUNT x | COMMAND foo | COMMAND INFO nosuch | COMMAND INFO config|get
COMMAND INFO config|nosuch | COMMAND INFO get|x | COMMAND INFO memory|usage
COMMAND INFO zunionstore mget bitop lcs GET zmpop | COMMAND DOCS nosuch
COMMAND DOCS config|nosuch | COMMAND LIST FILTERBY | COMMAND LIST foo
COMMAND LIST FILTERBY foo | COMMAND LIST FILTERBY MODULE x | COMMAND LIST FILTERBY ACLCAT foo
COMMAND LIST FILTERBY ACLCAT | COMMAND LIST FILTERBY foo x | COMMAND GETKEYS
COMMAND GETKEYS GET | COMMAND GETKEYS GET k | COMMAND GETKEYS GET k v
COMMAND GETKEYS MSET a 1 b 2 | COMMAND GETKEYS MSET a 1 b | COMMAND GETKEYS ZUNIONSTORE d 2 a b
COMMAND GETKEYS ZUNIONSTORE d 3 a b | COMMAND GETKEYS ZUNIONSTORE d abc a b
COMMAND GETKEYS XREAD COUNT 1 a b | COMMAND GETKEYS XREADGROUP GROUP g c COUNT 1 a b
COMMAND GETKEYS SINTERCARD 0 a | COMMAND GETKEYS SINTERCARD 1 a
COMMAND GETKEYS SORT a BY x GET y STORE z | COMMAND GETKEYS SORT a
COMMAND GETKEYS SORT_RO a BY x | COMMAND GETKEYS OBJECT ENCODING k
COMMAND GETKEYS MEMORY USAGE k | COMMAND GETKEYS MEMORY DOCTOR | COMMAND GETKEYS PING
COMMAND GETKEYS PING x | COMMAND GETKEYS nosuch key | COMMAND GETKEYS CONFIG foo bar
COMMAND GETKEYS CONFIG GET foo | COMMAND GETKEYSANDFLAGS GET k
COMMAND GETKEYSANDFLAGS SET k v | COMMAND GETKEYSANDFLAGS SET k v GET
COMMAND GETKEYSANDFLAGS SORT a STORE z | COMMAND GETKEYSANDFLAGS BITFIELD k GET u8 0
COMMAND GETKEYSANDFLAGS BITFIELD k SET u8 0 1 | COMMAND GETKEYSANDFLAGS ZUNIONSTORE d 2 a b
COMMAND GETKEYSANDFLAGS COPY a b | COMMAND GETKEYSANDFLAGS MSET a 1 b 2
COMMAND GETKEYSANDFLAGS PING x
COMMAND GETKEYS EVAL x 0 | COMMAND GETKEYS EVAL x 2 a b c | COMMAND GETKEYS EVAL x 3 a
COMMAND GETKEYS FCALL f 0 | COMMAND GETKEYS EVAL x abc | COMMAND GETKEYS EVAL x -1
"""


def test_replies_are_those_of_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    same_bytes(redis_wire, strata_wire, calls(CALLS))


def value(frame: Frame) -> Any:
    """A frame as plain data; notes are prose, and prose may differ."""
    if frame.kind == "%":
        pairs = {value(key): value(item) for key, item in frame.pairs()}
        return {**pairs, "notes": "..."} if "notes" in pairs else pairs
    if frame.items is not None:
        return [value(item) for item in frame.items]
    return frame.number if frame.kind == ":" else (frame.data or b"").decode()


def facts(wire: WireClient, names: list[str]) -> dict[str, list[Any]]:
    """By name, subcommands included."""
    found: dict[str, list[Any]] = {}
    for frame in wire.send("COMMAND", "INFO", *names).frame.items or ():
        if frame.is_null:
            continue
        for one in (value(frame), *value(frame)[9]):
            found[one[0]] = one
    return found


@pytest.fixture
def both(
    redis_wire: WireClient, strata_wire: WireClient
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    names = [name.decode() for name in strata_wire.send("COMMAND", "LIST").frame.blobs()]
    known = [name for name in names if "|" not in name]
    return facts(redis_wire, known), facts(strata_wire, known)


@pytest.mark.parametrize("protocol", [3])
@pytest.mark.parametrize("field", range(1, len(FIELDS)), ids=lambda at: FIELDS[at])
def test_facts_agree(
    field: int, both: tuple[dict[str, list[Any]], dict[str, list[Any]]], protocol: int
) -> None:
    redis, strata = both
    assert set(strata) - set(redis) <= ONLY_OURS
    same = [name for name in strata if name in redis and (name, FIELDS[field]) not in NEWER]
    pairs = {name: (redis[name][field], strata[name][field]) for name in same}
    assert len(pairs) > 150
    assert {name: pair for name, pair in pairs.items() if pair[0] != pair[1]} == {}


@pytest.mark.parametrize("protocol", [3])
@pytest.mark.parametrize("fact", ["since", "group"])
def test_docs_agree(
    fact: str, protocol: int, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis, strata = (_docs(wire) for wire in (redis_wire, strata_wire))
    shared = [name for name in strata if name in redis]
    pairs = {name: (redis[name][fact], strata[name][fact]) for name in shared}
    assert {name: pair for name, pair in pairs.items() if pair[0] != pair[1]} == {}


@pytest.mark.parametrize("protocol", [3])
def test_every_command_says_what_it_does(protocol: int, strata_wire: WireClient) -> None:
    docs = _docs(strata_wire)
    assert [name for name in docs if not docs[name]["summary"]] == []


def test_the_source_tells_what_a_compiled_handler_cannot() -> None:
    for entry in every_command():
        docs = docs_in_source(entry.handler.__module__)
        assert docs[entry.handler.__name__] == inspect.getdoc(entry.handler), entry.name


def _docs(wire: WireClient) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, docs in value(wire.send("COMMAND", "DOCS").frame).items():
        found[name] = docs
        found.update(docs.get("subcommands", {}))
    return found


def test_lists_are_filtered(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for words in (["PATTERN", "config*"], ["PATTERN", "*|get"], ["ACLCAT", "string"]):
        redis, strata = (
            sorted(wire.send("COMMAND", "LIST", "FILTERBY", *words).frame.blobs())
            for wire in (redis_wire, strata_wire)
        )
        assert redis == strata, words


def test_help_shows_every_subcommand(strata_wire: WireClient) -> None:
    for name in ("CLIENT", "CONFIG", "COMMAND", "SLOWLOG", "LATENCY", "MEMORY", "ACL"):
        lines = strata_wire.send(name, "HELP").frame.blobs()
        listed = facts(strata_wire, [name])
        words = {line.split(b" ")[0].lower() for line in lines[1::2]}
        assert {sub.split("|")[1].encode() for sub in listed if "|" in sub} == words, name


def tokens(found: list[Argument]) -> list[Any]:
    return [(one.token, one.name, one.kind, one.optional, one.multiple) for one in found]


def test_a_syntax_line_is_taken_apart() -> None:
    line = "SET key value [NX|XX] [LIMIT offset count] [EX seconds|KEEPTTL]"
    key, plain, choice, limit, expiry = syntax.arguments(line, 1)
    assert tokens([key, plain]) == [
        ("", "key", "key", False, False),
        ("", "value", "string", False, False),
    ]
    assert choice.kind == "oneof"
    assert choice.optional
    assert [part.token for part in choice.parts] == ["NX", "XX"]
    assert (limit.token, limit.kind, len(limit.parts)) == ("LIMIT", "block", 2)
    assert tokens(list(expiry.parts)) == [
        ("EX", "seconds", "integer", False, False),
        ("KEEPTTL", "keepttl", "pure-token", False, False),
    ]


def test_what_repeats_is_one_argument() -> None:
    assert tokens(syntax.arguments("DEL key [key ...]", 1)) == [("", "key", "key", False, True)]
    (pair,) = syntax.arguments("MSET key value [key value ...]", 1)
    assert (pair.kind, pair.multiple, len(pair.parts)) == ("block", True, 2)
    (section,) = syntax.arguments("INFO [section [section ...]]", 1)
    assert (section.optional, section.multiple) == (True, True)
    _, pattern = syntax.arguments("SORT key [GET pattern [GET pattern ...]]", 1)
    assert (pattern.token, pattern.optional, pattern.repeats_token) == ("GET", True, True)
