"""All differences at once, instead of the first: `python -m tests.differential.survey [group ...]`.

Runs 300 random sequences per group and protocol (STRATAKV_EFFORT makes them more or less), goes on
after a difference, and prints each kind of difference once with its shortest command list, then how
often each command succeeded. STRATAKV_TEST_SUBJECT is as in the tests.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings

from tests.differential.compare import Exchange
from tests.differential.runner import Broken, Mismatch, Pair
from tests.differential.sequences import sequences
from tests.differential.strategies import GROUPS
from tests.differential.templates import Args
from tests.harness.effort import rounds
from tests.harness.servers import Process
from tests.harness.subjects import start_oracle, start_subject

EXAMPLES = rounds(2000)
SEED = int(os.environ.get("STRATAKV_DIFF_SEED") or 1)


@dataclass(slots=True)
class Survey:
    """Differences by kind, and the successes of each command."""

    found: dict[tuple[str, ...], str] = field(default_factory=dict)
    seen: Counter[tuple[str, ...]] = field(default_factory=Counter)
    succeeded: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def watch(self, exchange: Exchange) -> None:
        name = exchange.word(0).decode(errors="replace")
        (self.failed if exchange.redis.frame.is_error else self.succeeded)[name] += 1

    def note(self, kind: tuple[str, ...], text: str) -> None:
        self.seen[kind] += 1
        if kind not in self.found or len(text) < len(self.found[kind]):
            self.found[kind] = text

    def show(self) -> None:
        for kind, times in self.seen.most_common():
            print(f"--- {times} x {' | '.join(kind)}{self.found[kind]}\n")
        names = sorted({*self.succeeded, *self.failed})
        print("ok/errors:", *(f"{n}={self.succeeded[n]}/{self.failed[n]}" for n in names))


def kind_of(mismatch: Mismatch) -> tuple[str, ...]:
    """Differences with the same command and alike replies are one kind."""
    exchange = mismatch.exchange
    alike = [re.sub(r"\d+", "N", str(reply))[:60] for reply in (exchange.redis, exchange.strata)]
    return (exchange.word(0).decode(errors="replace"), *alike)


def survey(group: str, pair: Pair, result: Survey) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @seed(SEED)
    @given(sequences(group))
    def collect(sequence: list[Args]) -> None:
        try:
            pair.run(sequence)
        except Mismatch as mismatch:
            result.note(kind_of(mismatch), str(mismatch))
        except Broken as broken:
            result.note(
                (pair.sent[-1][0].upper().decode(errors="replace"), "no reply"), str(broken)
            )

    collect()


def main(groups: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        redis = start_oracle(Path(scratch) / "redis")
        strata = start_subject(Path(scratch) / "strata")
        try:
            survey_all(groups or list(GROUPS), redis, strata)
        finally:
            redis.stop()
            strata.stop()


def survey_all(groups: list[str], redis: Process, strata: Process) -> None:
    for group in groups:
        result = Survey()
        print(f"=== {group}, seed {SEED}")
        for protocol in (2, 3):
            survey(group, Pair(redis.client, strata.client, protocol, result.watch), result)
        result.show()


if __name__ == "__main__":
    main(sys.argv[1:])
