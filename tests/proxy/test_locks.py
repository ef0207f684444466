"""Locks on keys: taken all at once, granted in order of arrival."""

from __future__ import annotations

from collections.abc import Callable

from stratakv.proxy.locks import KeyLocks

A, B, C = (0, b"a"), (0, b"b"), (0, b"c")


class Log(list[str]):
    def note(self, name: str) -> Callable[[], None]:
        return lambda: self.append(name)


def test_free_keys_are_granted_at_once() -> None:
    locks, log = KeyLocks(), Log()
    assert not locks
    locks.acquire([A, B], log.note("first"))
    assert log == ["first"]
    assert locks
    assert locks.blocks([B, C])
    assert not locks.blocks([C])


def test_the_same_key_of_another_database_is_another_key() -> None:
    locks, log = KeyLocks(), Log()
    locks.acquire([A], log.note("first"))
    assert not locks.blocks([(1, b"a")])


def test_who_shares_a_key_waits_and_who_does_not_goes_on() -> None:
    locks, log = KeyLocks(), Log()
    locks.acquire([A], log.note("first"))
    locks.acquire([A, B], log.note("second"))
    locks.acquire([C], log.note("third"))
    assert log == ["first", "third"]
    locks.release([A])
    assert log == ["first", "third", "second"]


def test_nobody_overtakes_a_waiting_one_that_wants_the_same_key() -> None:
    locks, log = KeyLocks(), Log()
    locks.acquire([A], log.note("holds a"))
    locks.acquire([A, B], log.note("waits for a and b"))
    locks.acquire([B], log.note("wants b, which is free"))
    assert log == ["holds a"]
    locks.release([A])
    assert log == ["holds a", "waits for a and b"]
    locks.release([A, B])
    assert log == ["holds a", "waits for a and b", "wants b, which is free"]


def test_waiting_ones_start_in_order_of_arrival() -> None:
    locks, log = KeyLocks(), Log()
    locks.acquire([A], log.note("0"))
    for name in "123":
        locks.acquire([A], log.note(name))
    for _ in range(4):
        locks.release([A])
    assert log == ["0", "1", "2", "3"]
    assert not locks


def test_one_that_releases_as_soon_as_it_starts_lets_the_next_start() -> None:
    locks, log = KeyLocks(), Log()

    def brief(name: str) -> Callable[[], None]:
        def start() -> None:
            log.append(name)
            locks.release([A])

        return start

    locks.acquire([A], log.note("long"))
    for name in ("1", "2", "3"):
        locks.acquire([A], brief(name))
    locks.release([A])
    assert log == ["long", "1", "2", "3"]
    assert not locks


def test_a_writer_of_everything_waits_for_all() -> None:
    locks, log = KeyLocks(), Log()
    assert not locks.blocks([])
    locks.acquire([A], log.note("long"))
    assert locks.blocks([])
    locks.acquire([], log.note("flush"))
    assert log == ["long"]
    locks.release([A])
    assert log == ["long", "flush"]
