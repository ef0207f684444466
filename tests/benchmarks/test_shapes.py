import random
from collections import Counter

import hiredis
import pytest

from benchmarks.lanes import Spec, lanes
from benchmarks.shapes import SHAPES, batches, zipf_ranks


def commands(spec: Spec) -> list[list[bytes]]:
    """All commands of a spec, lane after lane."""
    reader = hiredis.Reader()
    for lane in lanes(spec):
        for data, _ in batches(lane):
            reader.feed(data)
    return list(iter(reader.gets, False))


@pytest.mark.parametrize("shape", SHAPES)
def test_equal_specs_give_equal_streams(shape: str) -> None:
    spec = Spec(shape, steps=20, keys=100, connections=3, seed=7)
    assert commands(spec) == commands(spec)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pipeline", [1, 7, 1000])
def test_batches_announce_as_many_replies_as_commands(shape: str, pipeline: int) -> None:
    spec = Spec(shape, steps=20, keys=100, connections=3, pipeline=pipeline)
    announced = [count for lane in lanes(spec) for _, count in batches(lane)]
    assert sum(announced) == len(commands(spec))
    assert max(announced) <= pipeline


def test_another_seed_gives_another_stream() -> None:
    spec = Spec("read_strings", steps=20)
    assert commands(spec) != commands(Spec("read_strings", steps=20, seed=2))


def test_a_fill_writes_every_key_once() -> None:
    spec = Spec("fill_strings", steps=50, first=10, connections=7, value_bytes=3)
    keys = [int(command[1].removeprefix(b"key:")) for command in commands(spec)]
    assert sorted(keys) == list(range(10, 60))


def test_a_filled_sorted_set_has_distinct_members_and_scores() -> None:
    pairs = [part for command in commands(Spec("fill_zset", steps=5)) for part in command[2:]]
    assert sorted(map(int, pairs[::2])) == list(range(500))
    assert len(set(pairs[1::2])) == 500


def test_the_commands_of_a_step_stay_together() -> None:
    names = [command[0] for command in commands(Spec("capped_ranking", steps=9, connections=2))]
    assert names == [b"ZADD", b"ZREMRANGEBYRANK", b"ZREVRANGE"] * 9


def test_nine_of_ten_zipf_commands_are_reads() -> None:
    names = Counter(command[0] for command in commands(Spec("zipf_90_10", 5000, keys=100)))
    assert 0.88 < names[b"GET"] / 5000 < 0.92


def test_zipf_prefers_low_ranks_in_proportion() -> None:
    drawn = Counter(zipf_ranks(random.Random(1), 1000, 100_000))
    assert drawn[0] / drawn[9] == pytest.approx(10**0.99, rel=0.1)
    assert max(drawn) < 1000
