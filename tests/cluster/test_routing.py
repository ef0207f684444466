"""Whose a request is: the bytes of three nodes of a Redis Cluster, for the same slots."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.cluster.nodes import StaticCluster
from tests.harness.servers import Process
from tests.harness.wire import WireClient, encode
from tests.tier.cluster import RedisCluster

# a: 15495, b: 3300, c: 7365, d: 11298, foo: 12182, bar: 5061
HERE, THERE, FAR = "bar", "c", "a"
"""Keys of the first, the second and the third node."""
_ID = re.compile(rb"[0-9a-f]{40}")


def said(node: Process, nodes: Sequence[Process], calls: Sequence[str], protocol: int) -> bytes:
    """All bytes of the replies, with names for what differs from cluster to cluster."""
    with WireClient(node.port, protocol) as client:
        client.write(b"".join(encode(*_words(call)) for call in [*calls, "QUIT"]))
        raw = client.read_to_end()
    return anonymous(raw, nodes)


def _words(call: str) -> list[str]:
    return [word.replace("~", " ") for word in call.split()]


def anonymous(raw: bytes, nodes: Sequence[Process]) -> bytes:
    for number, node in enumerate(nodes):
        raw = re.sub(rb"\b%d\b" % node.port, b"<port %d>" % number, raw)
    return raw


def compare(
    redis: RedisCluster, strata: StaticCluster, calls: Sequence[str], protocol: int, node: int = 0
) -> bytes:
    for cluster in (redis, strata):
        for one in cluster.nodes:
            with one.client() as client:
                client.send("FLUSHALL")
                client.send("FUNCTION", "FLUSH")
    ours = said(strata.nodes[node], strata.nodes, calls, protocol)
    assert ours == said(redis.nodes[node], redis.nodes, calls, protocol)
    return ours


SINGLE = """
SET {h} 1 | SET {t} 1 | GET {f} | MGET {h} {h} | MGET {h} {t} | MGET {t} {f} | MSET {h} 1 {{{h}}}2 2
DEL {t} {{{t}}}x | GET | SET | GET {t} x | EXISTS {h} {{{h}}} | RENAME {h} {t} | RENAME {h} {{{h}}}2
OBJECT ENCODING {h} | OBJECT ENCODING {t} | MEMORY USAGE {t} | XREAD STREAMS {t} 0 | XADD {h} * a b
XREAD COUNT 1 STREAMS {t} 0 | XREAD STREAMS {h} {t} 0 0 | XREAD STREAMS {h} | SORT {h} | SORT {t}
SORT {h} STORE {t} | SORT {h} BY x_* | SORT {h} GET # | SORT {h} BY x
SORT_RO {h} BY x_* GET y | GEORADIUS {t} 1 1 1 m | LPUSH {t} x | BLPOP {t} 0
BLPOP {h} {t} 0 | ZUNIONSTORE {h} 2 {h} {t} | ZUNIONSTORE {h} 1 {{{h}}} | ZUNION 2 {h}
ZUNION x {t} | SINTERCARD 1 {t} | LMPOP 1 {t} LEFT | BITOP AND {h} {t} | PFCOUNT {h} {t}
TOUCH {h} {t} | WATCH {t} | WATCH {h} {t} | WATCH {h} | UNWATCH | PING | DBSIZE | KEYS *
SCAN 0 | RANDOMKEY | SELECT 0 | SELECT 1 | SELECT x | SELECT -1 | SELECT 99
SWAPDB 0 0 | SWAPDB 0 1 | SWAPDB x y | MOVE {h} 1
MOVE {t} 1 | MOVE {h} x | COPY {h} {t} | COPY {h} {{{h}}}2 DB 1 | COPY {h} {{{h}}}2 DB 0
COPY {h} {{{h}}}2 DB x | COPY {h} {h} DB 0 | READONLY | READWRITE | ASKING | READONLY x
OBJECT HELP x | XINFO STREAM {t} | XGROUP CREATE {t} g 0 | DUMP {t} | EXPIRE {t} 1 | SPUBLISH {t} x
SPUBLISH {h} x | SSUBSCRIBE {t} | SSUBSCRIBE {h} {t} | SUNSUBSCRIBE {t} | PUBLISH {t} x
EVAL return~1 0 | EVAL return~1 1 {h} | EVAL return~1 1 {t} | EVAL return~1 2 {h} {t}
EVAL return~1 3 {t} {h} | EVAL return~1 x {t} | EVAL return~1 -1 {t} | EVAL return~1 1
EVAL return~redis.call('get','{t}') 0 | EVAL return~redis.call('get','{h}') 0
EVAL return~redis.pcall('get','{t}') 0 | EVAL return~redis.call('mget','{h}','{t}') 0
EVAL return~redis.call('get','{{{h}}}x') 1 {h} | EVAL return~redis.call('get','foo{{{h}}}') 1 {h}
EVALSHA ffffffffffffffffffffffffffffffffffffffff 1 {t} | FCALL f 1 {t} | FCALL f 1 {h}
SPUBLISH | MIGRATE 127.0.0.1 1 {t} 0 10 | RESTORE {t} 0 x | LCS {h} {t} | SMOVE {h} {t} x
"""
CALLS = [
    call.strip().format(h=HERE, t=THERE, f=FAR)
    for line in SINGLE.strip().splitlines()
    for call in line.split("|")
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call(
    call: str, redis_cluster: RedisCluster, strata_cluster: StaticCluster, protocol: int
) -> None:
    varies = ("XADD",)
    calls = [call] if call.split()[0] not in varies else []
    compare(redis_cluster, strata_cluster, [*calls, "PING"], protocol)


TRANSACTIONS = [
    ["SET {h} 1", "GET {h}", "EXEC"],
    ["SET {h} 1", "SET {{{h}}}2 2", "EXEC", "MGET {h} {{{h}}}2"],
    ["SET {t} 1", "SET {h} 1", "EXEC", "GET {h}"],
    ["SET {h} 1", "SET baz 1", "EXEC", "GET {h}", "PING"],
    ["MGET {h} {t}", "EXEC"],
    ["SET {h} 1", "GET {t}", "DISCARD", "GET {h}"],
    ["PING", "DBSIZE", "EXEC"],
    ["EXEC"],
    ["SELECT 0", "SET {h} 1", "SELECT 1", "EXEC"],
    ["WATCH {t}", "SET {h} 1", "EXEC"],
    ["EVAL return~redis.call('get','{t}') 0", "EXEC"],
    ["EVAL return~1 1 {h}", "GET {h}", "EXEC"],
    ["SET {h} 1", "EVAL return~redis.call('set','{{{h}}}2','2') 0", "EXEC"],
    ["SPUBLISH {h} 1", "SET {h} 1", "EXEC"],
    ["SPUBLISH {t} 1", "EXEC"],
    ["SET {h}", "EXEC"],
    ["BLPOP {h} 0", "EXEC"],
    ["SWAPDB 0 1", "MOVE {h} 1", "COPY {h} {{{h}}}2 DB 1", "EXEC"],
]


@pytest.mark.parametrize("calls", TRANSACTIONS, ids=lambda calls: calls[0])
def test_a_transaction(
    calls: list[str], redis_cluster: RedisCluster, strata_cluster: StaticCluster, protocol: int
) -> None:
    told = [call.format(h=HERE, t=THERE, f=FAR) for call in ["MULTI", *calls, "PING"]]
    compare(redis_cluster, strata_cluster, told, protocol)


SCRIPTS = [
    ("#!lua\n", "redis.call('set',KEYS[1],1) return redis.call('set','{{{h}}}x',1)"),
    ("#!lua\n", "redis.call('set',KEYS[1],1) return redis.call('set','baz',1)"),
    ("#!lua\n", "return redis.pcall('set','baz',1)"),
    ("#!lua\n", "return redis.call('set','{t}',1)"),
    ("#!lua\n", "return redis.call('publish','{t}','x')"),
    ("#!lua\n", "return redis.call('spublish','{t}','x')"),
    ("#!lua flags=no-cluster\n", "return 1"),
    ("#!lua flags=no-cluster,no-writes\n", "return 1"),
    ("#!lua flags=allow-cross-slot-keys\n", "return redis.call('set','{t}',1)"),
    ("", "return redis.call('dbsize')"),
    ("", "return redis.call('select',1)"),
    ("", "return redis.call('get')"),
    ("", "return redis.call('cluster','keyslot','a')"),
    ("", "return redis.call('readonly')"),
    ("", "return redis.call('blpop','{t}',0)"),
    ("", "return redis.call('mget','{h}','{{{h}}}x')"),
]


@pytest.mark.parametrize(("first", "body"), SCRIPTS, ids=lambda text: text.strip() or "-")
@pytest.mark.parametrize("keys", ["0", "1 {h}"])
def test_a_script(
    first: str, body: str, keys: str, redis_cluster: RedisCluster, strata_cluster: StaticCluster
) -> None:
    names = {"h": HERE, "t": THERE}
    call = f"EVAL {(first + body.format(**names)).replace(' ', '~')} {keys.format(**names)}"
    if "KEYS" in call and keys == "0":
        return
    compare(redis_cluster, strata_cluster, [call, "PING"], 2)


def test_keys_of_another_slot_of_the_same_node_are_of_another_group(
    strata_cluster: StaticCluster,
) -> None:
    """Redis lets a script without a first line use them; here they are not one commit."""
    with strata_cluster.nodes[0].client() as client:
        client.send("FLUSHALL")
        reply = client.send("EVAL", "redis.call('set','k2',1) redis.call('set','b',1)", "0")
        assert b"do not hash to the same slot" in reply.raw
        # of the same group they may be
        assert client.send("EVAL", "redis.call('set','b',1)", "1", "{b}").raw == b"$-1\r\n"


QUESTIONS = """
CLUSTER SLOTS | CLUSTER SHARDS | CLUSTER INFO | CLUSTER NODES | CLUSTER MYID | CLUSTER
CLUSTER KEYSLOT a | CLUSTER KEYSLOT | CLUSTER COUNTKEYSINSLOT 5061 | CLUSTER COUNTKEYSINSLOT 7365
CLUSTER COUNTKEYSINSLOT x | CLUSTER COUNTKEYSINSLOT 16384 | CLUSTER COUNTKEYSINSLOT -1
CLUSTER GETKEYSINSLOT 5061 10 | CLUSTER GETKEYSINSLOT 5061 0 | CLUSTER GETKEYSINSLOT 5061 -1
CLUSTER GETKEYSINSLOT x 1 | CLUSTER GETKEYSINSLOT 1 x | CLUSTER GETKEYSINSLOT 99999 1
CLUSTER REPLICAS x | CLUSTER SLAVES x | CLUSTER COUNT-FAILURE-REPORTS x | CLUSTER nosuch | HELLO
INFO cluster | CLUSTER SETSLOT 1 | CLUSTER REPLICAS | ASKING x | COMMAND GETKEYS GET c | HELLO 3
"""
_VARYING = re.compile(rb"\b(epoch|sent|received|offset|known_nodes):?\b[^\r]*|\d{2,}")


@pytest.mark.parametrize(
    "call", [call.strip() for line in QUESTIONS.strip().splitlines() for call in line.split("|")]
)
def test_a_question(
    call: str, redis_cluster: RedisCluster, strata_cluster: StaticCluster, protocol: int
) -> None:
    calls = [f"SET {HERE} 1", call]

    def form(cluster: RedisCluster | StaticCluster) -> bytes:
        raw = said(cluster.nodes[0], cluster.nodes, calls, protocol)
        return shape(call, raw)

    assert form(strata_cluster) == form(redis_cluster)


def shape(call: str, raw: bytes) -> bytes:
    """A reply without what no two clusters have in common: ids, epochs, lengths, times, order."""
    raw = _ID.sub(b"<id>", raw)
    if call.startswith("CLUSTER INFO"):
        raw = re.sub(rb"(messages_\w+|epoch):\d+", rb"\1:", raw)
        raw = re.sub(rb"cluster_stats_messages_\w+_(sent|received):\r\n", b"", raw)
        return re.sub(rb"[$=]\d+", b"", raw)
    if call.startswith("CLUSTER NODES"):
        raw = re.sub(rb"[$=]\d+|txt:", b"", raw)
        raw = re.sub(rb"@(\d+|<port \d>)", b"@", raw)
        raw = re.sub(rb"- \d+ \d+ \d+ connected \d+-\d+", b"- connected", raw)
        return b"\n".join(sorted(raw.split(b"\n")))
    if call.startswith(("CLUSTER SLOTS", "CLUSTER SHARDS")):
        raw = re.sub(rb":\d+", b":", raw)
        return b"".join(sorted(re.findall(rb"<port \d>|<id>|\*\d|%\d", raw)))
    if call.startswith("HELLO"):
        return re.sub(rb"id\r\n:\d+", b"id", raw)
    return raw
