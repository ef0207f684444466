"""Locks on keys: taken all at once, granted in order of arrival, given back by their owner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from stratakv.encodings.keyspace.locks import (
    EVERYTHING,
    MOST_KEYS,
    NOTHING,
    Claim,
    KeyLocks,
    Lock,
    claim,
)

A, B, C = claim([b"a"]), claim([b"b"]), claim([b"c"])
AB = claim([b"a", b"b"])


class Table:
    """Locks with names, and the order in which they started."""

    def __init__(self) -> None:
        self.later: deque[Callable[[], None]] = deque()
        self.exist = False
        self.locks = KeyLocks(self.later.append, self._note)
        self.started: list[str] = []
        self.by_name: dict[str, Lock] = {}

    def _note(self, exist: bool) -> None:
        self.exist = exist

    def acquire(self, name: str, wanted: Claim) -> None:
        def start(lock: Lock) -> None:
            self.started.append(name)

        self.by_name[name] = self.locks.acquire(wanted, start)

    def wait(self, name: str, wanted: Claim) -> None:
        self.by_name[name] = self.locks.wait(wanted, lambda lock: self.started.append(name))

    def release(self, name: str) -> None:
        self.by_name.pop(name).release()
        while self.later:
            self.later.popleft()()


@pytest.fixture
def table() -> Table:
    return Table()


def test_free_keys_are_granted_at_once(table: Table) -> None:
    assert not table.locks
    table.acquire("first", AB)
    assert table.started == ["first"]
    assert table.locks
    assert table.exist
    assert table.locks.blocks(claim([b"b", b"c"]))
    assert not table.locks.blocks(C)


def test_who_shares_a_key_waits_and_who_does_not_goes_on(table: Table) -> None:
    table.acquire("first", A)
    table.acquire("second", AB)
    table.acquire("third", C)
    assert table.started == ["first", "third"]
    table.release("first")
    assert table.started == ["first", "third", "second"]


def test_nobody_overtakes_a_waiting_one_that_wants_the_same_key(table: Table) -> None:
    table.acquire("holds a", A)
    table.acquire("waits for a and b", AB)
    table.acquire("wants b, which is free", B)
    assert table.started == ["holds a"]
    table.release("holds a")
    assert table.started == ["holds a", "waits for a and b"]
    table.release("waits for a and b")
    assert table.started == ["holds a", "waits for a and b", "wants b, which is free"]


def test_waiting_ones_start_in_order_of_arrival(table: Table) -> None:
    for name in "0123":
        table.acquire(name, A)
    for name in "0123":
        table.release(name)
    assert table.started == ["0", "1", "2", "3"]
    assert not table.locks
    assert not table.exist


def test_those_that_only_wait_start_together(table: Table) -> None:
    table.acquire("long", A)
    for name in "123":
        table.wait(name, A)
    table.release("long")
    assert table.started == ["long", "1", "2", "3"]
    assert not table.locks


def test_one_that_only_waits_has_its_try_before_a_later_lock_is_granted(table: Table) -> None:
    table.acquire("long", A)
    table.wait("short", A)
    table.acquire("later", A)
    table.by_name.pop("long").release()
    assert table.started == ["long", "short"]
    assert table.locks.blocks(A)
    while table.later:
        table.later.popleft()()
    assert table.started == ["long", "short", "later"]


def test_everything_waits_for_all_and_all_wait_for_it(table: Table) -> None:
    assert not table.locks.blocks(EVERYTHING)
    table.acquire("long", A)
    table.acquire("flush", EVERYTHING)
    table.acquire("other", B)
    assert table.started == ["long"]
    table.release("long")
    assert table.started == ["long", "flush"]
    table.release("flush")
    assert table.started == ["long", "flush", "other"]


def test_the_end_of_another_lock_frees_nothing_of_everything(table: Table) -> None:
    table.acquire("script", EVERYTHING)
    other = Table()
    other.acquire("somewhere else", A)
    other.release("somewhere else")
    assert table.locks.blocks(A)
    assert not table.locks.blocks(NOTHING)


def test_a_lock_is_given_back_once(table: Table) -> None:
    lock = table.locks.acquire(A, lambda lock: None)
    lock.release()
    with pytest.raises(KeyError):
        lock.release()
    table.acquire("next", A)
    with pytest.raises(KeyError):
        lock.release()
    assert table.locks.blocks(A)


def test_one_that_gives_up_waiting_lets_those_behind_it_start(table: Table) -> None:
    table.acquire("holds a", A)
    table.acquire("waits for a and b", AB)
    table.acquire("wants b", B)
    assert table.locks.behind(table.by_name["holds a"]) == [table.by_name["waits for a and b"]]
    table.release("waits for a and b")
    assert table.started == ["holds a", "wants b"]


def test_very_many_keys_are_everything() -> None:
    assert claim([b"%d" % number for number in range(MOST_KEYS)]).keys
    assert claim([b"%d" % number for number in range(MOST_KEYS + 1)]) is EVERYTHING


@pytest.mark.parametrize(
    ("mine", "other", "overlaps", "covers"),
    [
        (NOTHING, NOTHING, False, True),
        (NOTHING, EVERYTHING, False, False),
        (EVERYTHING, NOTHING, False, True),
        (EVERYTHING, A, True, True),
        (A, EVERYTHING, True, False),
        (AB, A, True, True),
        (A, AB, True, False),
        (A, B, False, False),
    ],
)
def test_claims(mine: Claim, other: Claim, overlaps: bool, covers: bool) -> None:
    assert mine.overlaps(other) is overlaps
    assert other.overlaps(mine) is overlaps
    assert mine.covers(other) is covers
