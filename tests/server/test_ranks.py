"""Ranks in large sorted sets: the replies of a real Redis, whatever is written in between.

The server makes directories for small sets here, so that all of it is met within seconds. It looks
at its invariants after each turn: a directory that is out of step ends it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.effort import rounds
from tests.harness.servers import Process, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode

Call = tuple[Arg, ...]

SMALL = {"STRATAKV_RANK_DIRECTORY_MEMBERS": "20"}
COUNT = 600
ROUNDS = rounds(1500, least=120)
SCRIPT = """
local found = {}
for _, name in ipairs(ARGV) do
  redis.call('ZINCRBY', KEYS[1], 7, name)
  found[#found + 1] = redis.call('ZRANK', KEYS[1], name) or -1
end
found[#found + 1] = redis.call('ZCOUNT', KEYS[1], 10, 60)
return found
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    directory = tmp_path_factory.mktemp("ranks") / "data"
    found = StrataServer(directory, env=SMALL).start()
    yield found
    found.stop()


@pytest.fixture
def strata(server: StrataServer) -> Iterator[WireClient]:
    with server.client() as client:
        client.send("FLUSHALL")
        yield client


@pytest.fixture
def oracle(redis_server: Process) -> Iterator[WireClient]:
    with redis_server.client() as client:
        client.send("FLUSHALL")
        yield client


def built(client: WireClient) -> int:
    """How many directories the server has made so far."""
    shown = client.send("INFO", "cache").raw.decode()
    return int(shown.split("rank_directories_built:")[1].split("\r\n")[0])


def fill(dice: random.Random, *clients: WireClient, count: int = COUNT) -> None:
    pairs: list[Arg] = []
    for number in range(count):
        pairs += [dice.randrange(100), f"m{number}"]
    for client in clients:
        client.send("ZADD", "z", *pairs)
        client.send("ZADD", "lex", *(part for at in range(count) for part in (0, f"n{at:04}")))


def write(dice: random.Random) -> Call:
    name, score = f"m{dice.randrange(COUNT * 2)}", dice.randrange(100)
    low = dice.randrange(COUNT)
    calls: list[Call] = [
        ("ZADD", "z", score, name),
        ("ZADD", "z", "CH", score, name, score + 0.5, f"m{low}", dice.randrange(300), f"r{low}"),
        ("ZADD", "z", "GT", score, name),
        ("ZINCRBY", "z", dice.choice((-3, 5, 40)), name),
        ("ZREM", "z", name, f"m{low}"),
        ("ZPOPMIN", "z"),
        ("ZPOPMAX", "z", 2),
        ("ZREMRANGEBYRANK", "z", low, low + dice.randrange(4)),
        ("ZREMRANGEBYRANK", "z", -low - 2, -low),
        ("ZREMRANGEBYSCORE", "z", f"({score}", score + 0.5),
        ("ZREMRANGEBYLEX", "lex", f"[n{low:04}", f"(n{low + 2:04}"),
        ("ZADD", "lex", 0, f"n{low:04}", 0, f"n{low:04}x"),
        ("ZRANGESTORE", "part", "z", low, low + 40),
        ("ZRANGESTORE", "part", "lex", "-", "+", "BYLEX", "REV", "LIMIT", low, 9),
    ]
    return dice.choice(calls)


def read(dice: random.Random) -> Call:
    name, low = f"m{dice.randrange(COUNT * 2)}", dice.randrange(COUNT)
    score = dice.randrange(100)
    most = dice.choice((-1, 0, 3, 200))
    first, last = f"[n{low // 2:04}", f"(n{low:04}"
    calls: list[Call] = [
        ("ZRANK", "z", name),
        ("ZREVRANK", "z", name),
        ("ZRANGE", "z", low, low + 20),
        ("ZRANGE", "z", low, -1, "WITHSCORES"),
        ("ZRANGE", "z", low, low + 20, "REV"),
        ("ZREVRANGE", "z", low, low + 3, "WITHSCORES"),
        ("ZRANGE", "z", -low - 10, -low),
        ("ZCOUNT", "z", score // 2, f"({score}"),
        ("ZCOUNT", "z", "-inf", score),
        ("ZRANGEBYSCORE", "z", score // 3, score, "LIMIT", low // 2, most),
        ("ZREVRANGEBYSCORE", "z", score, "-inf", "LIMIT", low // 2, most),
        ("ZRANGE", "z", score, 7, "BYSCORE", "REV", "LIMIT", low // 2, most),
        ("ZLEXCOUNT", "lex", first, last),
        ("ZLEXCOUNT", "z", first, last),
        ("ZRANGEBYLEX", "lex", first, "+", "LIMIT", low // 2, most),
        ("ZREVRANGEBYLEX", "lex", last, "-", "LIMIT", low // 2, most),
        ("ZCARD", "z"),
        ("ZRANGE", "part", 0, -1, "WITHSCORES"),
    ]
    return dice.choice(calls)


@pytest.mark.effort
def test_random_reads_and_writes(
    strata: WireClient, oracle: WireClient, server: StrataServer, diff_seed: int
) -> None:
    dice = random.Random(diff_seed)
    fill(dice, strata, oracle)
    before = built(strata)
    for number in range(ROUNDS):
        call = write(dice) if dice.random() < 0.4 else read(dice)
        expected, found = oracle.send(*call), strata.send(*call)
        assert found.raw == expected.raw, (diff_seed, number, call, server.output())
        if not dice.randrange(150):
            fill(dice, strata, oracle)
    assert built(strata) > before


@pytest.mark.effort
def test_units_see_their_own_writes(
    strata: WireClient, oracle: WireClient, server: StrataServer, diff_seed: int
) -> None:
    dice = random.Random(diff_seed)
    fill(dice, strata, oracle)
    for number in range(ROUNDS // 6):
        names = [f"m{dice.randrange(COUNT)}" for _ in range(dice.randrange(1, 20))]
        if dice.random() < 0.3:
            calls: list[Call] = [("EVAL", SCRIPT, 1, "z", *names)]
        else:
            unit = [write(dice) if dice.random() < 0.6 else read(dice) for _ in range(12)]
            calls = [("MULTI",), *unit, (dice.choice(("EXEC", "EXEC", "DISCARD")),)]
        calls.append(read(dice))
        for call in calls:
            expected, found = oracle.send(*call), strata.send(*call)
            assert found.raw == expected.raw, (diff_seed, number, call, calls, server.output())


def test_many_who_ask_at_once_wait_for_one_directory(
    strata: WireClient, server: StrataServer
) -> None:
    pairs = [part for number in range(30_000) for part in (number, f"m{number}")]
    strata.send("ZADD", "z", *pairs)
    before = built(strata)
    clients = [server.client() for _ in range(20)]
    for number, client in enumerate(clients):
        client.write(encode("ZRANK", "z", f"m{10_000 + number}") + encode("PING"))
    for number, client in enumerate(clients):
        assert client.read().frame.number == 10_000 + number
        assert client.read().raw == b"+PONG\r\n"
        client.close()
    assert built(strata) == before + 1
    assert strata.send("ZCOUNT", "z", 100, 29_000).frame.number == 28_901


def test_a_client_that_leaves_while_it_waits(strata: WireClient, server: StrataServer) -> None:
    pairs = [part for number in range(30_000) for part in (number, f"m{number}")]
    strata.send("ZADD", "z", *pairs)
    before = built(strata)
    gone = server.client()
    gone.write(encode("ZRANK", "z", "m15000") + encode("SET", "never", 1))
    gone.close()
    wait_until(lambda: built(strata) > before or strata.send("EXISTS", "never").frame.number)
    assert strata.send("ZRANK", "z", "m15000").frame.number == 15_000


def test_beside_long_commands_and_other_writers(
    strata: WireClient, server: StrataServer, diff_seed: int
) -> None:
    """Each writer has members of its own, and the readers find what no writer touches."""
    fixed = [f"k{number:05}" for number in range(5000)]
    strata.send("ZADD", "z", *(part for at, name in enumerate(fixed) for part in (at, name)))
    stop = threading.Event()
    final: dict[str, float] = {}
    failures: list[str] = []

    def change(writer: int) -> None:
        dice = random.Random(diff_seed + writer)
        own: dict[str, float] = {}
        with server.client() as client:
            while not stop.is_set() or len(own) < 10:
                name, score = f"w{writer}:{dice.randrange(200)}", dice.uniform(5000, 9000)
                if dice.random() < 0.3:
                    client.send("ZREM", "z", name)
                    own.pop(name, None)
                elif dice.random() < 0.05:
                    part = {f"w{writer}:{n}": dice.uniform(5000, 9000) for n in range(1500)}
                    client.send("ZADD", "z", *(x for name, s in part.items() for x in (s, name)))
                    own.update(part)
                else:
                    client.send("ZADD", "z", score, name)
                    own[name] = score
        final.update(own)

    def look(reader: int) -> None:
        dice = random.Random(diff_seed + 100 + reader)
        with server.client() as client:
            while not stop.is_set():
                at = dice.randrange(1000, 4000)
                if client.send("ZRANK", "z", fixed[at]).frame.number != at:
                    failures.append(f"ZRANK of {at}")
                long = client.send("ZRANGE", "z", at, at + 1999).frame.blobs()
                known = [name.decode() for name in long if name.startswith(b"k")]
                if known != fixed[at : at + 2000]:
                    failures.append(f"ZRANGE from {at}")
                if client.send("ZCOUNT", "z", at, 4999).frame.number != 5000 - at:
                    failures.append(f"ZCOUNT from {at}")

    threads = [threading.Thread(target=change, args=(n,)) for n in range(2)]
    threads += [threading.Thread(target=look, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(rounds(100, least=30)):
        strata.send("ZREVRANGE", "z", 0, -1)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[:10]
    order = fixed + [name for _, name in sorted((score, name) for name, score in final.items())]
    assert strata.send("ZCARD", "z").frame.number == len(order)
    for rank in range(0, len(order), 97):
        assert strata.send("ZRANK", "z", order[rank]).frame.number == rank
        found = strata.send("ZRANGE", "z", rank, rank + 2).frame.blobs()
        assert [name.decode() for name in found] == order[rank : rank + 3]


def test_after_kill9_the_ranks_are_those_of_what_was_acknowledged(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", env=SMALL).start()
    dice = random.Random(1)
    scores: dict[str, int] = {}
    for _ in range(3):
        with server.client() as client:
            for _ in range(300):
                name, score = f"m{dice.randrange(900)}", dice.randrange(10**6)
                client.send("ZADD", "z", score, name)
                scores[name] = score
            order = [name for _, name in sorted((score, name) for name, score in scores.items())]
            for rank in (0, len(order) // 2, len(order) // 3, len(order) - 1):
                assert client.send("ZRANK", "z", order[rank]).frame.number == rank
        server.kill9()
        server.start()
        with server.client() as client:
            assert built(client) == 0
            middle = len(order) // 2
            assert client.send("ZRANK", "z", order[middle]).frame.number == middle
            assert built(client) == 1
    server.stop()


def test_without_room_sets_are_walked_and_the_replies_are_the_same(
    strata: WireClient, oracle: WireClient
) -> None:
    dice = random.Random(1)
    fill(dice, strata, oracle)
    assert strata.send("ZRANK", "z", "m300").raw == oracle.send("ZRANK", "z", "m300").raw
    before = built(strata)
    try:
        assert strata.send("CONFIG", "SET", "rank-directory-bytes", "0").raw == b"+OK\r\n"
        assert b"mem_rank_directories:0\r\n" in strata.send("INFO", "memory").raw
        for _ in range(100):
            call = write(dice) if dice.random() < 0.3 else read(dice)
            assert strata.send(*call).raw == oracle.send(*call).raw, call
        assert built(strata) == before
    finally:
        strata.send("CONFIG", "SET", "rank-directory-bytes", "32mb")
