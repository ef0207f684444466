"""redis-py's Lock, whose steps are Lua scripts, and its pipelines with WATCH."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from redis.exceptions import LockError, LockNotOwnedError
from redis.lock import Lock

pytestmark = pytest.mark.application


def lock_of(client: redis.Redis, **options: Any) -> Lock:
    lock: Lock = client.lock("resource", **{"timeout": 30, "sleep": 0.01, **options})
    return lock


def in_threads(work: Callable[[], object], count: int) -> None:
    """Run the work in so many threads at once; an error in one of them is raised here."""
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()


def test_one_holder_at_a_time(client: redis.Redis) -> None:
    first, second = lock_of(client), lock_of(client)
    assert first.acquire()
    assert (first.locked(), first.owned()) == (True, True)
    assert (second.locked(), second.owned()) == (True, False)
    assert not second.acquire(blocking=False)
    first.release()
    assert second.acquire(blocking=False)
    second.release()
    assert client.exists("resource") == 0


def test_only_the_holder_may_release_extend_or_reacquire(client: redis.Redis) -> None:
    holder, other = lock_of(client), lock_of(client)
    holder.acquire()
    other.local.token = b"somebody else's"
    with pytest.raises(LockNotOwnedError):
        other.release()
    other.local.token = b"somebody else's"
    with pytest.raises(LockNotOwnedError):
        other.extend(10)
    with pytest.raises(LockNotOwnedError):
        other.reacquire()
    with pytest.raises(LockError):
        lock_of(client).release()
    assert holder.owned()
    holder.release()


def test_extend_and_reacquire_move_the_expiry(client: redis.Redis) -> None:
    lock = lock_of(client, timeout=10)
    lock.acquire()
    assert lock.extend(20)
    assert 20 < client.pttl("resource") / 1000 <= 30
    assert lock.extend(15, replace_ttl=True)
    assert 10 < client.pttl("resource") / 1000 <= 15
    assert lock.reacquire()
    assert 5 < client.pttl("resource") / 1000 <= 10
    lock.release()


def test_a_lock_runs_out(client: redis.Redis) -> None:
    lock = lock_of(client, timeout=0.05)
    lock.acquire()
    assert lock_of(client).acquire(blocking_timeout=10)
    with pytest.raises(LockNotOwnedError):
        lock.release()


def test_waiting_ends_at_the_blocking_timeout(client: redis.Redis) -> None:
    lock_of(client).acquire()
    assert not lock_of(client).acquire(blocking_timeout=0.1)
    with pytest.raises(LockError), lock_of(client, blocking_timeout=0.05):
        pytest.fail("the lock is held by another")


def test_scripts_are_loaded_again_after_they_were_lost(client: redis.Redis) -> None:
    lock = lock_of(client)
    lock.acquire()
    client.script_flush()
    lock.release()
    assert client.exists("resource") == 0


def test_a_counter_under_a_lock_loses_nothing(client: redis.Redis) -> None:
    def add_ten() -> None:
        for _ in range(10):
            with lock_of(client, sleep=0.001):
                client.set("counter", int(client.get("counter") or 0) + 1)

    in_threads(add_ten, 4)
    assert client.get("counter") == b"40"


def test_a_counter_under_watch_loses_nothing(client: redis.Redis) -> None:
    def add_one(pipe: redis.client.Pipeline) -> None:
        value = int(pipe.get("counter") or 0)
        pipe.multi()
        pipe.set("counter", value + 1)

    in_threads(lambda: [client.transaction(add_one, "counter") for _ in range(10)], 4)
    assert client.get("counter") == b"40"


def test_a_watched_key_that_changed_stops_the_transaction(client: redis.Redis) -> None:
    with client.pipeline() as pipe:
        pipe.watch("key")  # type: ignore[no-untyped-call]
        client.set("key", "theirs")
        pipe.multi()
        pipe.set("key", "ours")
        with pytest.raises(redis.WatchError):
            pipe.execute()
    assert client.get("key") == b"theirs"


def test_errors_inside_a_transaction_do_not_undo_the_rest(client: redis.Redis) -> None:
    pipe = client.pipeline(transaction=True)
    pipe.set("key", "text")
    pipe.incr("key")
    pipe.rpush("list", 1, 2)
    done, failed, length = pipe.execute(raise_on_error=False)
    assert (done, length) == (True, 2)
    assert isinstance(failed, redis.ResponseError)
