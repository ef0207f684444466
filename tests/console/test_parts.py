"""What needs no server: escaped text, HTML, percentiles, treemaps, sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratakv.console import forms, histograms, markup, sessions, treemap
from stratakv.console import survey as surveys
from stratakv.console.client import Client, Login
from stratakv.console.pages import large
from stratakv.console.survey import Survey
from stratakv.storage.cache.address import parse_address


@given(st.binary(max_size=60))
def test_escaped_bytes_come_back(raw: bytes) -> None:
    shown = forms.escaped(raw)
    assert forms.parse_escaped(shown) == raw
    assert shown.isprintable() or " " in shown


@pytest.mark.parametrize("text", ["\\", "\\q", "a\\x4", "\\X41"])
def test_a_backslash_alone_means_nothing(text: str) -> None:
    with pytest.raises(ValueError, match="backslash"):
        forms.parse_escaped(text)


@given(st.text(max_size=40))
def test_text_never_becomes_markup(text: str) -> None:
    made = markup.el("p", text, title=text)
    assert made.count("<") == made.count(">") == 2
    assert made.count('"') == 2


@pytest.mark.parametrize("name", ["onclick", "style"])
def test_scripts_and_styles_cannot_stand_in_elements(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        markup.el("p", **{name: "x"})


def test_percentiles_lie_within_their_bucket() -> None:
    counts = {1.0: 50.0, 2.0: 99.0, 4.0: 100.0}
    assert histograms.percentile(counts, 0.5) == 1.0
    assert histograms.percentile(counts, 0.99) == 2.0
    assert histograms.percentile(counts, 0.999) == pytest.approx(3.8)
    assert histograms.percentile({}, 0.5) is None


def test_what_came_between_two_looks() -> None:
    before, now = {1.0: 5.0, 4.0: 6.0}, {1.0: 7.0, 2.0: 9.0, 4.0: 12.0}
    assert histograms.since(now, before) == {1.0: 2.0, 2.0: 4.0, 4.0: 6.0}
    assert histograms.since({1.0: 2.0}, before) == {1.0: 2.0}  # the counts began anew
    assert histograms.merged([before, {2.0: 1.0}]) == {1.0: 5.0, 2.0: 6.0, 4.0: 7.0}


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=30))
def test_tiles_fill_the_rectangle_by_size(numbers: list[float]) -> None:
    placed = treemap.tiles(numbers, 100, 60)
    assert sorted(tile.index for tile in placed) == list(range(len(numbers)))
    total = sum(numbers)
    for tile in placed:
        assert tile.width * tile.height == pytest.approx(numbers[tile.index] / total * 6000)
        assert tile.x >= -1e-6
        assert tile.x + tile.width <= 100 + 1e-6
        assert tile.y + tile.height <= 60 + 1e-6


def test_tries_are_forgotten_after_a_while() -> None:
    now = 0.0
    tries = sessions.Tries(lambda: now)
    for _ in range(sessions.TRIES):
        assert tries.wait("a") == 0
        tries.begin("a")
        tries.take_back("a")
        tries.begin("a")
    assert tries.wait("a") == sessions.TRY_SECONDS
    assert tries.wait("b") == 0
    now = sessions.TRY_SECONDS
    assert tries.wait("a") == 0


def test_the_areas_of_a_prefix_are_all_that_it_takes() -> None:
    survey = Survey(0, Client(parse_address("redis://127.0.0.1:1"), Login()))
    for n in range(large.TILES + 10):
        survey._count(b"a:%d:x" % n, "string", 100 + n)
    for key in (b"a:direct", b"none", b"b:1"):
        survey._count(key, "string", 5)
    survey.seen = large.TILES + 13
    for prefix, size in ((b"", survey.size), (b"a:", survey.size - 10), (b"b:", 5)):
        found = large.areas(survey, prefix)
        assert sum(area.size for area in found) == size
        assert sum(area.keys for area in found) == (
            survey.counts[prefix] if prefix else survey.seen
        )
    names = {area.name: area.size for area in large.areas(survey, b"a:")}
    assert names["(others)"] == sum(range(100, 110)) + 5
    assert len(names) == large.TILES + 1
    assert [area.name for area in large.areas(survey, b"b:")] == ["(no deeper prefix)"]
    assert {area.name for area in large.areas(survey, b"")} == {"a:", "b:", "(no prefix)"}


def test_prefixes_that_are_seen_late_are_counted_though_deeper_ones_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(surveys, "PREFIXES", 20)
    survey = Survey(0, Client(parse_address("redis://127.0.0.1:1"), Login()))
    for n in range(50):
        survey._count(b"user:%d:x" % n, "string", 10)
    survey._count(b"late:1", "string", 7)
    survey.seen = 51
    found = {area.name: (area.size, area.keys) for area in large.areas(survey, b"")}
    assert found == {"user:": (500, 50), "late:": (7, 1)}
    inside = {area.name: area.size for area in large.areas(survey, b"user:")}
    assert inside["(others)"] == 500 - 10 * (len(inside) - 1)
