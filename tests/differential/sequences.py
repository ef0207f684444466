"""Random command sequences of a group."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.strategies import GROUPS, POPULATE
from tests.differential.templates import Args, commands

# A list of Hypothesis has about five elements however long it may be, and a minimum length would
# keep a failure from shrinking below it. Several short lists in a row make long sequences that
# shrink to nothing.
STRETCHES = 5


def sequences(group: str) -> st.SearchStrategy[list[Args]]:
    """Command lists of the group; about one command in four fills a key with some type."""
    stretch = st.lists(_one_of_group(group), max_size=12)
    return st.tuples(*[stretch] * STRETCHES).map(
        lambda parts: [args for part in parts for args in part]
    )


@st.composite
def _one(
    draw: st.DrawFn, own: list[st.SearchStrategy[Args]], fill: list[st.SearchStrategy[Args]]
) -> Args:
    # Drawn in two steps: one_of would flatten the tables and give each line of both the same
    # weight.
    table = fill if draw(st.integers(0, 3)) == 3 else own
    return draw(draw(st.sampled_from(table)))


def _one_of_group(group: str) -> st.SearchStrategy[Args]:
    return _one(commands(GROUPS[group]), commands(POPULATE))
