"""StrataKV answers random commands, right and wrong ones, as redis-server does.

One group: `pytest tests/differential -k zsets`. More examples: STRATAKV_EFFORT=50.
The same run again: STRATAKV_DIFF_SEED=<the seed that the failure prints>.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, seed

from tests.differential.runner import Pair
from tests.differential.sequences import sequences
from tests.differential.strategies import GROUPS
from tests.differential.templates import Args
from tests.harness.servers import Process


@pytest.fixture
def pair(redis_server: Process, strata_server: Process, protocol: int) -> Iterator[Pair]:
    both = Pair(redis_server.client, strata_server.client, protocol)
    yield both
    both.clean()


# A failure shrinks to its shortest form, which may take longer than a test usually may.
@pytest.mark.effort
@pytest.mark.parametrize("group", GROUPS)
def test_random_commands_get_the_replies_of_redis(group: str, pair: Pair, diff_seed: int) -> None:
    @seed(diff_seed)
    @given(sequences(group))
    def replies_agree(sequence: list[Args]) -> None:
        pair.run(sequence)

    try:
        replies_agree()
    except BaseException as failure:
        failure.add_note(
            f"group {group}, run again with STRATAKV_DIFF_SEED={diff_seed} and -k {group}"
        )
        raise
