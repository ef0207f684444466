"""How often keys are used: counters that grow more and more slowly, and fall with time."""

from stratakv.clock import ManualClock
from stratakv.encodings.keyspace import frequencies
from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.frequencies import FIRST, KEY_BYTES, KEYS, MOST, Frequencies

MINUTE = 60_000


def made(log_factor: int = 10, decay: int = 1) -> tuple[Frequencies, Database, ManualClock]:
    clock = ManualClock()
    return Frequencies(clock, log_factor, decay), Database(0, b"d0", clock), clock


def test_a_counter_grows_more_slowly_the_higher_it_is() -> None:
    counted, database, _ = made()
    for _ in range(10_000):
        counted.see(database, [b"often"])
    for _ in range(100):
        counted.see(database, [b"seldom"])
    counted.see(database, [b"once"])
    often, seldom, once = (counted.count((0, key)) for key in (b"often", b"seldom", b"once"))
    assert FIRST == once < seldom < often < MOST


def test_a_counter_ends_at_its_most() -> None:
    counted, database, _ = made(log_factor=0)
    for _ in range(MOST + 20):
        counted.see(database, [b"k"])
    assert counted.count((0, b"k")) == MOST


def test_a_counter_falls_with_the_minutes_and_goes_on_from_there() -> None:
    counted, database, clock = made(log_factor=0, decay=2)
    for _ in range(15):
        counted.see(database, [b"k"])
    high = counted.count((0, b"k"))
    clock.advance(6 * MINUTE)
    assert counted.count((0, b"k")) == high - 3
    counted.see(database, [b"k"])
    assert counted.count((0, b"k")) == high - 2
    clock.advance(1000 * MINUTE)
    assert counted.count((0, b"k")) == 0


def test_without_decay_it_stays() -> None:
    counted, database, clock = made(decay=0)
    counted.see(database, [b"k"])
    clock.advance(1000 * MINUTE)
    assert counted.count((0, b"k")) == FIRST


def test_memory_is_bounded_and_what_is_used_most_stays() -> None:
    counted, database, _ = made(log_factor=0)
    for _ in range(10):
        counted.see(database, [b"hot"])
    counted.see(database, [b"%d" % number for number in range(KEYS)])
    counted.see(database, [b"l" * (KEY_BYTES + 1)])
    assert len(counted._counters) <= frequencies.KEYS
    assert counted.count((0, b"hot")) > FIRST
    assert counted.count((0, b"l" * (KEY_BYTES + 1))) == 0
