"""Random commands while a side is killed or the link is cut, whichever side is a StrataKV and
whichever a Redis: in the end `stratakv compare` finds nothing.

A StrataKV goes on where it was, a Redis that was killed begins anew: as a replica empty, as a
master with what is in its append only file, under another id.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.differential.sequences import sequences
from tests.differential.strategies import GROUPS
from tests.differential.templates import Args
from tests.harness.effort import rounds
from tests.harness.servers import Process, RedisServer, StrataServer
from tests.replication.chaos import cutting_proxy, listening
from tests.replication.fleet import follow, wait_in_step
from tests.replication.test_pairings import PAIRINGS, UNFIT, is_told
from tests.tools.running import succeeded, url

AOF = ("--appendonly", "yes", "--appendfsync", "always")
LARGE_BACKLOG = ("--repl-backlog-size", "64mb")
AT_ONCE = 5
LONGEST_S = 0.2


@pytest.fixture(params=PAIRINGS)
def pairing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    leading, following = PAIRINGS[request.param]
    flags = (*LARGE_BACKLOG, *(AOF if leading is RedisServer else ()))
    master = leading(tmp_path / "master", flags=flags).start()
    replica = following(tmp_path / "replica").start()
    with master.client() as client:
        client.send("CONFIG", "SET", "repl-diskless-sync-delay", 0)
    yield master, replica
    replica.stop()
    master.stop()


def write(master: Process, commands: list[Args], until: Callable[[], bool]) -> int:
    """Send commands again and again; says how many were answered. The server may be killed."""
    told = [one for one in commands if is_told(one) or isinstance(master, StrataServer)]
    answered = 0
    with contextlib.suppress(OSError), master.client() as client:
        client.pipeline([("FLUSHALL",), ("FUNCTION", "FLUSH")])
        while True:
            for at in range(0, len(told), AT_ONCE):
                answered += len(client.pipeline(told[at : at + AT_ONCE]))
            if until():
                break
    return answered


def some_commands() -> st.SearchStrategy[list[Args]]:
    return st.sampled_from(sorted(set(GROUPS) - UNFIT)).flatmap(sequences)


def again_and_again(
    count: int, seed_: int, fault: Callable[[list[Args], random.Random], None]
) -> None:
    """Let something happen so often, each time with other commands."""

    @seed(seed_)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(some_commands(), st.randoms(use_true_random=False))
    def once(commands: list[Args], dice: random.Random) -> None:
        fault(commands, dice)

    once()


@pytest.mark.slow
@pytest.mark.effort
@pytest.mark.parametrize("victim", ["master", "replica"])
def test_whoever_is_killed_the_two_agree(
    victim: str, pairing: tuple[Process, Process], diff_seed: int
) -> None:
    master, replica = pairing
    follow(replica, master)
    killed = master if victim == "master" else replica
    answered = 0

    def kill(commands: list[Args], dice: random.Random) -> None:
        nonlocal answered
        done = threading.Event()

        def strike() -> None:
            time.sleep(dice.uniform(0, LONGEST_S))
            killed.kill9()
            done.set()

        striking = threading.Thread(target=strike)
        striking.start()
        answered += write(master, commands, done.is_set)
        striking.join()
        assert isinstance(killed, RedisServer | StrataServer)
        killed.start()
        follow(replica, master)
        assert succeeded("compare", url(master), url(replica)) == "no difference\n"

    again_and_again(rounds(20, least=2), diff_seed, kill)
    assert answered


@pytest.mark.slow
@pytest.mark.effort
def test_however_often_the_link_is_cut_the_two_agree(
    pairing: tuple[Process, Process], diff_seed: int
) -> None:
    master, replica = pairing
    serve, has_cut = cutting_proxy(master.port, seed=diff_seed, cuts=rounds(40, least=4))
    with listening(serve) as port, replica.client() as client:
        client.send("REPLICAOF", "127.0.0.1", port)

        def cut(commands: list[Args], dice: random.Random) -> None:
            if not has_cut():
                ends = time.monotonic() + dice.uniform(0, 5 * LONGEST_S)
                write(master, commands, lambda: time.monotonic() > ends)

        again_and_again(rounds(40, least=4), diff_seed, cut)
        while not has_cut():
            write(master, [(b"SET", b"k", b"x" * 1000)], lambda: True)
        wait_in_step(master, replica)
        assert succeeded("compare", url(master), url(replica)) == "no difference\n"
