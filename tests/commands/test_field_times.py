"""Expire-times of hash fields over the wire.

The redis-server of the other tests does not know these commands: the replies here are those that
Redis 7.4.1 gave to the same calls.
"""

import time
from pathlib import Path

from stratakv.encodings.check import check
from stratakv.storage.leveldb import LevelEngine
from tests.harness.servers import StrataServer
from tests.harness.wire import Frame, WireClient

TRANSCRIPT = """
HSET h a 1 b 2 c 3 => 3
HEXPIRE h 100 FIELDS 2 a x => [1 -2]
HTTL h FIELDS 3 a b x => [100 -1 -2]
HEXPIRE h 100 NX FIELDS 3 a b b => [0 1 0]
HEXPIRE h 10 GT FIELDS 2 a c => [0 0]
HEXPIRE h 1000 GT FIELDS 2 a c => [1 0]
HEXPIRE h 500 LT FIELDS 3 a b c => [1 0 1]
HEXPIRE h 500 XX FIELDS 3 a b c => [1 1 1]
HTTL h FIELDS 3 a b c => [500 500 500]
OBJECT ENCODING h => listpackex
HPERSIST h FIELDS 4 a b x b => [1 1 -2 -1]
HTTL h FIELDS 3 a b c => [-1 -1 500]
HSET h c 9 => 0
HTTL h FIELDS 1 c => [-1]
HEXPIREAT h 4000000000 FIELDS 1 a => [1]
HEXPIRETIME h FIELDS 2 a b => [4000000000 -1]
HPEXPIRETIME h FIELDS 2 a b => [4000000000000 -1]
HPEXPIREAT h 4000000000123 FIELDS 1 a => [1]
HEXPIRETIME h FIELDS 2 a b => [4000000001 -1]
HPEXPIRETIME h FIELDS 2 a b => [4000000000123 -1]
HINCRBY h a 5 => 6
HINCRBYFLOAT h a 5.5 => 11.5
HSETNX h a 1 => 0
HPEXPIRETIME h FIELDS 1 a => [4000000000123]
COPY h copy => 1
HPEXPIRETIME copy FIELDS 2 a b => [4000000000123 -1]
RENAME copy named => OK
HPEXPIRETIME named FIELDS 2 a b => [4000000000123 -1]
HDEL named a => 1
HSET named a 1 => 1
HPEXPIRETIME named FIELDS 2 a b => [-1 -1]
HMGET h a b c => [11.5 2 9]
HEXPIRE h 0 FIELDS 1 a => [2]
HMGET h a b c => [nil 2 9]
HLEN h => 2
HPEXPIREAT h 1 FIELDS 3 b c b => [2 2 -2]
EXISTS h => 0
HEXPIRE h 1 FIELDS 2 b c => [-2 -2]
HTTL h FIELDS 2 b c => [-2 -2]
HPERSIST h FIELDS 2 b c => [-2 -2]
SET s 1 => OK
HEXPIRE s 10 FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HEXPIRE s x FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HTTL s FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HTTL s FIELD 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HPERSIST s FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HSET h a 1 b 2 => 2
HEXPIRE h x FIELDS 1 a => ERR value is not an integer or out of range
HEXPIRE h -1 FIELDS 1 a => ERR invalid expire time, must be >= 0
HEXPIRE h 70368744177 FIELDS 1 a => ERR invalid expire time in 'hexpire' command
HEXPIREAT h 70368744177 FIELDS 1 a => [1]
HEXPIREAT h 70368744178 FIELDS 1 a => ERR invalid expire time in 'hexpireat' command
HPEXPIREAT h 70368744177663 FIELDS 1 a => [1]
HPEXPIREAT h 70368744177664 FIELDS 1 a => ERR invalid expire time in 'hpexpireat' command
HPEXPIRE h 9223372036854775807 FIELDS 1 a => ERR invalid expire time in 'hpexpire' command
HEXPIRE h 10 FIELD 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HEXPIRE h 10 NX FIELD 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HEXPIRE h 10 NX XX FIELDS 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HEXPIRE h 10 FIELDS 0 a => ERR Parameter `numFields` should be greater than 0
HEXPIRE h 10 FIELDS -1 a => ERR Parameter `numFields` should be greater than 0
HEXPIRE h 10 FIELDS x a => ERR Parameter `numFields` should be greater than 0
HEXPIRE h 10 FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
HEXPIRE h 10 FIELDS 1 a b
    => ERR The `numfields` parameter must match the number of arguments
HEXPIRE h 10 FIELDS => ERR wrong number of arguments for 'hexpire' command
HEXPIRE h 10 nx fields 1 => ERR The `numfields` parameter must match the number of arguments
HTTL h FIELDS 0 a => ERR Number of fields must be a positive integer
HTTL h FIELDS x a => ERR Number of fields must be a positive integer
HTTL h FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
HTTL h FIELDS 1 => ERR wrong number of arguments for 'httl' command
HPERSIST h FIELDS 0 a => ERR Number of fields must be a positive integer
HPERSIST h FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
"""

PACKED_BY_REDIS = (
    b"\x19\x00@\x94R\xa3\x03\x00\x00++\x00\x00\x00\x06\x00\x82f0\x03\x82v0\x03\xf4\x00@\x94R\xa3"
    b"\x03\x00\x00\t\x82f1\x03\x82v1\x03\xf4\xf4A\x94R\xa3\x03\x00\x00\t\xff\x0c\x00]\xfe\x07\xb4\xd7"
    b"!\xe6\xd6"
)
"""What Redis 7.4.1 dumps of a hash whose fields f0 and f1 expire in the year 2096."""

READ_BY_REDIS = (
    b"\x18\x00@\x94R\xa3\x03\x00\x00\x02\x01\x02f0\x02v0A\xf5\x02f1\x02v1\x0c\x00\xaf\xbb\xfe\xbe"
    b"\x98\x00\xe1{"
)
"""The same in the form that we write, which Redis 7.4.1 restores."""


def shown(frame: Frame) -> str:
    if frame.is_null:
        return "nil"
    if frame.items is not None:
        return f"[{' '.join(map(shown, frame.items))}]"
    return (frame.data or b"").decode()


def test_replies_are_those_of_redis_7_4(strata_wire: WireClient) -> None:
    lines = TRANSCRIPT.replace("\n    =>", " =>").strip().splitlines()
    for line in lines:
        call, reply = line.split(" => ")
        assert shown(strata_wire.send(*call.split()).frame) == reply, call


def test_dumps_are_exchanged_with_redis_7_4(strata_wire: WireClient) -> None:
    strata_wire.send("RESTORE", "h", 0, PACKED_BY_REDIS)
    times = strata_wire.send("HPEXPIRETIME", "h", "FIELDS", 3, "f0", "f1", "none").frame
    assert shown(times) == "[4000000000000 4000000000500 -2]"
    assert strata_wire.send("DUMP", "h").frame.data == READ_BY_REDIS
    strata_wire.send("RESTORE", "again", 0, READ_BY_REDIS)
    assert strata_wire.send("DUMP", "again").frame.data == READ_BY_REDIS


def wait_until_gone(wire: WireClient, key: str) -> None:
    deadline = time.monotonic() + 10
    while wire.send("EXISTS", key).frame.number:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_field_that_expires_is_gone_for_every_reader(strata_wire: WireClient) -> None:
    wire = strata_wire
    wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    try:
        wire.send("HSET", "h", "a", 1, "b", 2)
        wire.send("RPUSH", "list", "h")
        wire.send("HPEXPIRE", "h", 5, "FIELDS", 1, "a")
        time.sleep(0.02)
        for call, reply in [
            ("HGET h a", "nil"),
            ("HMGET h a b", "[nil 2]"),
            ("HEXISTS h a", "0"),
            ("HSTRLEN h a", "0"),
            ("HKEYS h", "[b]"),
            ("HVALS h", "[2]"),
            ("HGETALL h", "[b 2]"),
            ("HSCAN h 0", "[0 [b 2]]"),
            ("HRANDFIELD h", "b"),
            ("HRANDFIELD h 5", "[b]"),
            ("HRANDFIELD h -3", "[b b b]"),
            ("HTTL h FIELDS 1 a", "[-2]"),
            ("HPERSIST h FIELDS 1 a", "[-2]"),
            ("SORT list BY nosort GET *->a", "[nil]"),
            ("HINCRBY h a 5", "5"),
            ("HTTL h FIELDS 1 a", "[-1]"),
        ]:
            assert shown(wire.send(*call.split()).frame) == reply, call
    finally:
        wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 1)


def test_a_hash_goes_with_its_last_field(strata_wire: WireClient) -> None:
    strata_wire.send("HSET", "h", *[word for n in range(500) for word in (f"f{n}", n)])
    strata_wire.send("HPEXPIRE", "h", 10, "FIELDS", 500, *[f"f{n}" for n in range(500)])
    wait_until_gone(strata_wire, "h")
    assert strata_wire.send("DBSIZE").frame.number == 0


def test_fields_tell_their_events(strata_server: StrataServer) -> None:
    with strata_server.client() as wire, strata_server.client() as ears:
        wire.send("FLUSHALL")
        wire.send("CONFIG", "SET", "notify-keyspace-events", "Ehg")
        ears.send("PSUBSCRIBE", "__keyevent@0__:*")
        wire.send("HSET", "h", "a", 1, "b", 2, "c", 3)
        wire.send("HEXPIRE", "h", 100, "FIELDS", 2, "a", "none")
        wire.send("HEXPIRE", "h", 100, "NX", "FIELDS", 1, "a")
        wire.send("HPERSIST", "h", "FIELDS", 1, "a")
        wire.send("HPERSIST", "h", "FIELDS", 1, "a")
        wire.send("HEXPIRE", "h", 0, "FIELDS", 2, "a", "b")
        wire.send("HPEXPIRE", "h", 5, "FIELDS", 1, "c")
        heard = [ears.read().frame.blobs()[2].decode().partition(":")[2] for _ in range(7)]
        wire.send("CONFIG", "SET", "notify-keyspace-events", "")
    assert heard == ["hset", "hexpire", "hpersist", "hdel", "hexpire", "hexpired", "del"]


def test_times_survive_kill_9(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as wire:
        wire.send("HSET", "h", "a", 1, "b", 2)
        wire.send("HPEXPIREAT", "h", 4000000000000, "FIELDS", 1, "a")
        wire.send("HSET", "due", "a", 1)
        wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        wire.send("HPEXPIRE", "due", 5, "FIELDS", 1, "a")
    server.kill9()
    server.restart()
    with server.client() as wire:
        times = wire.send("HPEXPIRETIME", "h", "FIELDS", 2, "a", "b").frame
        assert shown(times) == "[4000000000000 -1]"
        wait_until_gone(wire, "due")
    server.stop()
    engine = LevelEngine(tmp_path / "data")
    assert list(check(engine)) == []
    engine.close()
