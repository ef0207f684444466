"""Geohashes, distances and searches without a server."""

import math
import random

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.geo import geo, geo_search
from stratakv.encodings.types.geo.geo import Box, Circle, Place
from stratakv.encodings.types.geo.geo_search import Search
from stratakv.encodings.types.zsets import zsets
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

PALERMO, CATANIA = Place(13.361389, 38.115556), Place(15.087269, 37.502669)
KEY = b"map"


def interleaved(latitude: int, longitude: int) -> int:
    """The slow way."""
    pairs = (
        (latitude >> bit & 1) << 2 * bit | (longitude >> bit & 1) << 2 * bit + 1
        for bit in range(32)
    )
    return sum(pairs)


@pytest.mark.parametrize("step", [1, 2, 13, 26])
def test_bits_of_latitude_and_longitude_alternate(step: int) -> None:
    rng = random.Random(step)
    for _ in range(50):
        place = Place(rng.uniform(-180, 180), rng.uniform(-85, 85))
        latitude = int((place.latitude + 85.05112878) / 170.10225756 * 2**step)
        longitude = int((place.longitude + 180) / 360 * 2**step)
        assert geo.encode(place, step) == interleaved(latitude, longitude)


def test_a_score_of_redis() -> None:
    assert geo.encode(PALERMO) == 3479099956230698
    assert geo.name(3479099956230698) == b"sqc8b49rny0"
    assert geo.name(3479447370796909) == b"sqdtr74hyu0"


def test_places_come_back_within_a_metre() -> None:
    rng = random.Random(1)
    for _ in range(100):
        place = Place(rng.uniform(-180, 180), rng.uniform(-85, 85))
        assert geo.distance_m(place, geo.decode(float(geo.encode(place)))) < 1


@pytest.mark.parametrize("score", [0.0, -1.0, 2.0**52, 2.0**64, math.inf, -math.inf, 3.7, 1e300])
def test_any_score_is_a_place_on_the_map(score: float) -> None:
    assert geo.is_on_map(geo.decode(score))


@pytest.mark.parametrize("place", [Place(180.1, 0), Place(-181, 0), Place(0, 85.06), Place(0, -90)])
def test_places_beyond_the_map(place: Place) -> None:
    assert not geo.is_on_map(place)


def test_distances() -> None:
    assert geo.distance_m(PALERMO, CATANIA) == pytest.approx(166274, abs=2)
    assert geo.distance_m(PALERMO, PALERMO) == 0
    assert geo.distance_m(Place(0, 0), Place(0, 1)) == pytest.approx(111226, abs=1)


def test_a_box_is_not_its_circle() -> None:
    box = Box(Place(0, 0), 200, 100, 1000.0)
    assert box.distance_within(Place(0.8, 0)) is not None
    assert box.distance_within(Place(0, 0.8)) is None
    assert box.distance_within(Place(0.95, 0)) is None


def random_places(seed: int, count: int) -> dict[bytes, Place]:
    rng = random.Random(seed)
    spread = 10 ** rng.uniform(-1, 2)
    centre = rng.uniform(-180, 180), rng.uniform(-80, 80)
    placed = {}
    for number in range(count):
        longitude = (centre[0] + rng.uniform(-spread, spread) + 180) % 360 - 180
        latitude = max(-85.0, min(85.0, centre[1] + rng.uniform(-spread, spread)))
        placed[b"%d" % number] = Place(longitude, latitude)
    return placed


def fill(bench: Bench, placed: dict[bytes, Place]) -> None:
    pairs = [(float(geo.encode(place)), member) for member, place in placed.items()]
    bench.do(zsets.add, KEY, pairs)


def run(bench: Bench, wanted: Search) -> list[bytes]:
    def operation(txn: Txn) -> list[bytes]:
        meta = geo_search.open_map(txn, KEY)
        assert meta is not None
        return [member for _, member, _ in geo_search.search(txn, meta, wanted)]

    found: list[bytes] = bench.do(operation)
    return found


@pytest.mark.parametrize("patient", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_search_finds_what_a_walk_over_everything_finds(seed: int, patient: bool) -> None:
    bench = Bench(MemoryEngine(), patient=patient)
    placed = random_places(seed, 300)
    fill(bench, placed)
    rng = random.Random(seed)
    for _ in range(10):
        circle = Circle(rng.choice(list(placed.values())), 10 ** rng.uniform(0, 3), 1000.0)
        if max(circle.centre.latitude, -circle.centre.latitude) > 66:
            continue  # near the poles nine cells of Redis's choice need not be enough
        everything = {
            member: circle.distance_within(geo.decode(float(geo.encode(place))))
            for member, place in placed.items()
        }
        expected = {member for member, distance in everything.items() if distance is not None}
        assert set(run(bench, Search(circle))) == expected


def test_order_and_count() -> None:
    bench = Bench(MemoryEngine())
    fill(bench, {b"%d" % n: Place(n / 10, 0) for n in range(20)})
    circle = Circle(Place(0, 0), 120, 1000.0)
    assert run(bench, Search(circle, 1, 3)) == [b"0", b"1", b"2"]
    assert run(bench, Search(circle, -1, 3)) == [b"10", b"9", b"8"]
    assert len(run(bench, Search(circle, 0, 4, any_will_do=True))) == 4


def test_a_stored_search_keeps_scores_or_distances() -> None:
    bench = Bench(MemoryEngine())
    fill(bench, {b"here": Place(0, 0), b"there": Place(1, 0), b"far": Place(50, 50)})
    wanted = Search(Circle(Place(0, 0), 200, 1000.0))

    def operation(txn: Txn, by_distance: bool) -> int:
        meta = geo_search.open_map(txn, KEY)
        event = "geosearchstore"
        return geo_search.store(txn, b"target", meta, wanted, event, by_distance=by_distance)

    assert bench.do(operation, True) == 2
    here, there, far = bench.do(zsets.scores, b"target", [b"here", b"there", b"far"])
    assert here == pytest.approx(0, abs=0.001)
    assert there == pytest.approx(111.2, abs=0.1)
    assert far is None
    assert bench.do(operation, False) == 2
    assert bench.do(zsets.scores, b"target", [b"there"]) == [float(geo.encode(Place(1, 0)))]


def test_a_large_search_turns_patient() -> None:
    bench = Bench(MemoryEngine())
    fill(bench, random_places(3, 900))
    bench.long_runs = 0
    run(bench, Search(Circle(Place(0, 0), 30_000, 1000.0)))
    assert bench.long_runs == 1
