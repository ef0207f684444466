"""What each encode-version is good for: reads with the tier hot and cold, and bytes in Redis.

    python -m benchmarks.tier_versions [--members 1000000] [--requests 20000] [--versions 0 1]

Starts a redis-server and, for each version, a StrataKV on loopback, and loads both with
redis-benchmark (50 clients). Cold means that the cache was emptied just before.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from pathlib import Path

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.wire import WireClient, encode
from tests.tier.servers import start_strata

CLIENTS = 50
FIELDS = 100


def bench(port: int, requests: int, *words: str) -> str:
    """Requests per second and p99 of one command, by redis-benchmark."""
    argv = ["redis-benchmark", "-p", str(port), "-c", str(CLIENTS), "-n", str(requests), "--csv"]
    out = subprocess.run([*argv, "-r", "1000000", *words], capture_output=True, text=True).stdout
    fields = [field.strip('"') for field in out.strip().splitlines()[-1].split('","')]
    return f"{float(fields[1]):9.0f}/s  p99 {float(fields[6]):8.2f} ms"


def timed(client: WireClient, *words: str) -> str:
    started = time.perf_counter()
    reply = client.send(*words)
    seconds = time.perf_counter() - started
    assert not reply.frame.is_error, reply
    return f"{seconds * 1000:9.2f} ms"


def name_of(number: int, width: int) -> bytes:
    return b"member:%07d:" % number + b"x" * (width - 15)


def load_zset(client: WireClient, members: int, width: int) -> None:
    """Names of `width` bytes, scores without ties."""
    step = 500
    for at in range(0, members, step):
        words: list[bytes] = [b"ZADD", b"zset"]
        for number in range(at, min(at + step, members)):
            words += (b"%d" % (number * 7919 % 1_000_003), name_of(number, width))
        client.write(encode(*words))
        assert client.read().frame.number is not None


def measure_zset(tier: RedisServer, version: int, members: int, requests: int, width: int) -> None:
    with tempfile.TemporaryDirectory() as directory, tier.client() as redis:
        redis.send("FLUSHALL")
        flags = ("--zset-encoding", str(version), "--cache-timeout", "1000")
        strata = start_strata(Path(directory) / "data", tier, *flags)
        try:
            with strata.client() as client:
                client._sock.settimeout(300)
                started = time.perf_counter()
                load_zset(client, members, width)
                print(
                    f"zset v{version}: {members} members in {time.perf_counter() - started:.1f} s",
                    flush=True,
                )
                middle = str(members // 2)
                rank = ("ZRANK", "zset", name_of(members // 2, width).decode())
                deep = ("ZRANGE", "zset", middle, str(members // 2 + 99))
                print(f"  first ZRANK (cold)     {timed(client, *rank)}")
                print(f"  ZRANK                  {timed(client, *rank)}")
                print(f"  ZRANGE 100 at middle   {timed(client, *deep)}")
                few = requests if version else max(CLIENTS, requests // 400)
                print(f"  ZRANK, 50 clients      {bench(strata.port, few, *rank)}")
                print(f"  ZRANGE, 50 clients     {bench(strata.port, few, *deep)}")
                print(
                    f"  ZSCORE, 50 clients     {bench(strata.port, requests, 'ZSCORE', *rank[1:])}"
                )
                used = redis.send("INFO", "memory").frame.data or b""
                found = re.search(rb"used_memory_dataset:(\d+)", used)
                print(f"  in Redis               {int(found[1] if found else 0) / 1e6:9.1f} MB")
        finally:
            strata.stop()


def measure_small(tier: RedisServer, version: int, requests: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        flags = ("--hash-encoding", str(version), "--set-encoding", str(version))
        strata: StrataServer = start_strata(Path(directory) / "data", tier, *flags)
        try:
            with strata.client() as client, tier.client() as redis:
                pairs = [word for n in range(FIELDS) for word in (f"field-{n}", "v" * 50)]
                client.send("HSET", "hash", *pairs)
                client.send("SADD", "set", *(f"member-{n}" for n in range(FIELDS)))
                print(f"hash and set v{version}, {FIELDS} members")
                for words in (
                    ("HGET", "hash", "field-7"),
                    ("HGETALL", "hash"),
                    ("SMEMBERS", "set"),
                ):
                    redis.send("FLUSHDB")
                    cold = timed(client, *words)
                    print(f"  {words[0]:9} cold {cold}   {bench(strata.port, requests, *words)}")
        finally:
            strata.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--width", type=int, default=24, help="bytes of a member")
    parser.add_argument("--versions", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--only-zsets", action="store_true")
    chosen = parser.parse_args()
    tier = RedisServer(Path(tempfile.mkdtemp()) / "redis").start()
    try:
        for version in () if chosen.only_zsets else chosen.versions:
            measure_small(tier, version, chosen.requests)
        for version in chosen.versions:
            measure_zset(tier, version, chosen.members, chosen.requests, chosen.width)
    finally:
        tier.stop()


if __name__ == "__main__":
    main()
