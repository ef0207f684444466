"""Masters and replicas in tests: who follows whom, whether they are in step, what they have."""

from __future__ import annotations

from typing import Any

from tests.harness.servers import Process
from tests.harness.waiting import wait_until
from tests.harness.wire import Frame, WireClient

DATABASES = range(16)


def info(client: WireClient, section: str = "replication") -> dict[str, str]:
    """A section of INFO."""
    text = client.send("INFO", section).frame.data or b""
    lines = [line.partition(":") for line in text.decode().splitlines()]
    return {name: value for name, colon, value in lines if colon}


def follow(replica: Process, master: Process) -> None:
    """Let one server follow another; returns when they are in step."""
    with replica.client() as client:
        reply = client.send("REPLICAOF", "127.0.0.1", master.port)
        assert reply.raw.startswith(b"+OK"), reply
    wait_in_step(master, replica)


def wait_in_step(master: Process, *replicas: Process) -> None:
    """Until the replicas have all that the master has written."""
    for replica in replicas:
        _wait_for_one(master, replica)


def _wait_for_one(master: Process, replica: Process) -> None:
    with master.client() as leader, replica.client() as follower:
        wait_until(lambda: _in_step(leader, follower), lambda: _told(master, replica))


def _in_step(leader: WireClient, follower: WireClient) -> bool:
    behind, ahead = info(follower), info(leader)
    return (
        behind.get("master_link_status") == "up"
        and behind["master_replid"] == ahead["master_replid"]
        and behind["slave_repl_offset"] == ahead["master_repl_offset"]
    )


def _told(master: Process, replica: Process) -> str:
    return f"never in step\nmaster:\n{master.output()}\nreplica:\n{replica.output()}"


def contents(client: WireClient) -> dict[tuple[int, bytes], Any]:
    """Every key of every database: its type, its value, when it expires."""
    found: dict[tuple[int, bytes], Any] = {}
    for database in DATABASES:
        client.send("SELECT", database)
        for key in client.send("KEYS", "*").frame.blobs():
            kind = client.send("TYPE", key).frame.data or b""
            if kind == b"none":
                continue  # it has expired meanwhile
            value = _READS[kind](client, key)
            found[database, key] = (kind, value, client.send("PEXPIRETIME", key).frame.number)
    client.send("SELECT", 0)
    return found


def libraries(client: WireClient) -> list[bytes]:
    """The code of each library of functions."""
    found = client.send("FUNCTION", "LIST", "WITHCODE").frame.elements
    return sorted(_named(one)[b"library_code"].data or b"" for one in found)


def _string(client: WireClient, key: bytes) -> Any:
    return client.send("GET", key).frame.data


def _hash(client: WireClient, key: bytes) -> Any:
    fields = client.send("HGETALL", key).frame.blobs()
    return dict(zip(fields[::2], fields[1::2], strict=True))


def _set(client: WireClient, key: bytes) -> Any:
    return sorted(client.send("SMEMBERS", key).frame.blobs())


def _zset(client: WireClient, key: bytes) -> Any:
    return client.send("ZRANGE", key, 0, -1, "WITHSCORES").frame.blobs()


def _list(client: WireClient, key: bytes) -> Any:
    return client.send("LRANGE", key, 0, -1).frame.blobs()


def _stream(client: WireClient, key: bytes) -> Any:
    entries = client.send("XRANGE", key, "-", "+").raw
    facts = _named(client.send("XINFO", "STREAM", key).frame)
    known = {name: facts[name].data for name in _STREAM_FACTS}
    groups = [_named(group) for group in client.send("XINFO", "GROUPS", key).frame.elements]
    return entries, known, [_group(client, key, group) for group in groups]


def _group(client: WireClient, key: bytes, group: dict[bytes, Frame]) -> Any:
    name = group[b"name"].data or b""
    consumers = client.send("XINFO", "CONSUMERS", key, name).frame.elements
    names = sorted(_named(one)[b"name"].data or b"" for one in consumers)
    pending = client.send("XPENDING", key, name, "-", "+", 1000).frame.elements
    shown = [(one.elements[0], one.elements[1], one.elements[3]) for one in pending]
    facts = [group[fact] for fact in (b"pending", b"last-delivered-id", b"entries-read")]
    return name, names, shown, facts


def _named(frame: Frame) -> dict[bytes, Frame]:
    items = frame.elements
    return {one.data or b"": two for one, two in zip(items[::2], items[1::2], strict=True)}


_STREAM_FACTS = (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added")
_READS = {
    b"string": _string,
    b"hash": _hash,
    b"set": _set,
    b"zset": _zset,
    b"list": _list,
    b"stream": _stream,
}
