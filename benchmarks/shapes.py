"""Streams of commands in the shapes that real users have."""

import random
from collections.abc import Iterator
from functools import cache
from itertools import accumulate

from benchmarks.applications import APPLICATIONS
from benchmarks.lanes import Lane, Shape, Step
from benchmarks.resp import encode

ZIPF_EXPONENT = 0.99
RANKING_CAP = 1000
JOB_TTL_S = 86400


def string_key(number: int) -> str:
    """The name redis-benchmark gives to its random keys, so that both tools meet."""
    return f"key:{number:012d}"


def fill_strings(lane: Lane) -> Iterator[Step]:
    """SET every key once, with values that do not compress."""
    size = lane.spec.value_bytes
    for number in lane.own_range():
        yield (encode("SET", string_key(number), lane.rng.randbytes(size)),)


def overwrite_strings(lane: Lane) -> Iterator[Step]:
    """SET random keys without end of the key range, with values that do not compress."""
    size, keys = lane.spec.value_bytes, lane.spec.keys
    for _ in range(lane.steps):
        key = string_key(lane.rng.randrange(keys))
        yield (encode("SET", key, lane.rng.randbytes(size)),)


def read_strings(lane: Lane) -> Iterator[Step]:
    """GET random keys, all equally likely."""
    for _ in range(lane.steps):
        yield (encode("GET", string_key(lane.rng.randrange(lane.spec.keys))),)


def zipf_90_10(lane: Lane) -> Iterator[Step]:
    """Nine GETs to one SET on keys of which a few are asked for most of the time."""
    value = lane.rng.randbytes(lane.spec.value_bytes)
    for number in zipf_ranks(lane.rng, lane.spec.keys, lane.steps):
        key = string_key(number)
        yield (encode("GET", key) if lane.rng.random() < 0.9 else encode("SET", key, value),)


def status_hash(lane: Lane) -> Iterator[Step]:
    """One large hash of video id to transcoding status: a worker reports, a page asks."""
    for _ in range(lane.steps):
        states = ("success", "failed", "proceed")
        state = f"{lane.rng.choice(states)}|{lane.rng.randrange(300)}|10.0.0.9|200,400"
        written, read = _video(lane), _video(lane)
        yield encode("HSET", "video:status", written, state), encode("HGET", "video:status", read)


def capped_ranking(lane: Lane) -> Iterator[Step]:
    """Shop rankings by category: add a score, cut to the best thousand, show the first page."""
    for _ in range(lane.steps):
        key = f"shopindex:2024-11-11:{lane.rng.randrange(100)}:sales"
        shop = f"shop:{lane.rng.randrange(lane.spec.keys)}"
        yield (
            encode("ZADD", key, lane.rng.randrange(1_000_000), shop),
            encode("ZREMRANGEBYRANK", key, 0, -RANKING_CAP - 1),
            encode("ZREVRANGE", key, 0, 9, "WITHSCORES"),
        )


def job_hashes(lane: Lane) -> Iterator[Step]:
    """A hash per job with a day to live: update the progress, renew the TTL, read it all."""
    for _ in range(lane.steps):
        key = f"job:{lane.rng.randrange(lane.spec.keys):016x}"
        progress = lane.rng.randrange(100)
        fields = (
            "status",
            "running",
            "video_path",
            f"/media/{key}.mp4",
            "current_processor",
            "asr",
        )
        yield (
            encode("HSET", key, *fields, "progress_total", 100, "progress_current", progress),
            encode("EXPIRE", key, JOB_TTL_S),
            encode("HGETALL", key),
        )


def fill_hash(lane: Lane) -> Iterator[Step]:
    """One hash of `steps` * 100 fields, a hundred per command."""
    for block in lane.own_range():
        numbers = range(block * 100, block * 100 + 100)
        pairs = [part for n in numbers for part in (f"field:{n:09d}", f"value:{n:09d}")]
        yield (encode("HSET", lane.spec.key, *pairs),)


def fill_zset(lane: Lane) -> Iterator[Step]:
    """One sorted set of `steps` * 100 members, a hundred per command."""
    for block in lane.own_range():
        numbers = range(block * 100, block * 100 + 100)
        pairs = [part for n in numbers for part in (n, f"member:{n:09d}")]
        yield (encode("ZADD", lane.spec.key, *pairs),)


def hgetall(lane: Lane) -> Iterator[Step]:
    """The whole of one hash, again and again."""
    for _ in range(lane.steps):
        yield (encode("HGETALL", lane.spec.key),)


def zrange_deep(lane: Lane) -> Iterator[Step]:
    """Ten members at a random rank inside a sorted set of `keys` members."""
    for _ in range(lane.steps):
        start = lane.rng.randrange(lane.spec.keys - 10)
        yield (encode("ZRANGE", lane.spec.key, start, start + 9, "WITHSCORES"),)


def zrank_deep(lane: Lane) -> Iterator[Step]:
    """The rank of a random member of a sorted set of `keys` members."""
    for _ in range(lane.steps):
        member = f"member:{lane.rng.randrange(lane.spec.keys):09d}"
        yield (encode("ZRANK", lane.spec.key, member),)


def zcount_deep(lane: Lane) -> Iterator[Step]:
    """The members between two random scores of a sorted set of `keys` members."""
    for _ in range(lane.steps):
        low, high = sorted(lane.rng.randrange(lane.spec.keys) for _ in range(2))
        yield (encode("ZCOUNT", lane.spec.key, low, high),)


def zrange_page(lane: Lane) -> Iterator[Step]:
    """A hundred members at a random rank inside a sorted set of `keys` members."""
    for _ in range(lane.steps):
        start = lane.rng.randrange(max(1, lane.spec.keys - 100))
        yield (encode("ZRANGE", lane.spec.key, start, start + 99),)


SHAPES: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        *APPLICATIONS,
        fill_strings,
        overwrite_strings,
        read_strings,
        zipf_90_10,
        status_hash,
        capped_ranking,
        job_hashes,
        fill_hash,
        fill_zset,
        hgetall,
        zrange_deep,
        zrank_deep,
        zcount_deep,
        zrange_page,
    )
}


def zipf_ranks(rng: random.Random, keys: int, count: int) -> list[int]:
    """`count` numbers below `keys`; number r is drawn in proportion to 1 / (r + 1) ** 0.99."""
    return rng.choices(range(keys), cum_weights=_zipf_weights(keys), k=count)


@cache
def _zipf_weights(keys: int) -> list[float]:
    return list(accumulate((rank + 1) ** -ZIPF_EXPONENT for rank in range(keys)))


def batches(lane: Lane) -> Iterator[tuple[bytes, int]]:
    """The lane's stream as writes of `pipeline` commands: the bytes, and how many replies."""
    waiting: list[bytes] = []
    for step in SHAPES[lane.spec.shape](lane):
        waiting.extend(step)
        while len(waiting) >= lane.spec.pipeline:
            ready, waiting = waiting[: lane.spec.pipeline], waiting[lane.spec.pipeline :]
            yield b"".join(ready), len(ready)
    if waiting:
        yield b"".join(waiting), len(waiting)


def _video(lane: Lane) -> str:
    return f"yt{lane.rng.randrange(lane.spec.keys):016x}"
