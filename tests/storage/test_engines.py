"""Engines by name, as the options and the tools ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stratakv import options
from stratakv.errors import StoreUnavailable
from stratakv.options import BadOption, Options
from stratakv.storage.engines import ENGINES, open_directory, open_engine


@pytest.mark.parametrize("name", ENGINES)
def test_the_options_choose_an_engine_by_its_name(name: str, tmp_path: Path) -> None:
    opened = open_engine(Options(engine=name, dir=str(tmp_path / "db"), disk_reserve_bytes=0))
    assert opened.name == name
    assert opened.directory in (None, tmp_path / "db")
    opened.write({b"row": b"value"})
    assert opened.get(b"row") == b"value"
    opened.close()


def test_an_option_names_the_engines_that_there_are() -> None:
    assert [options.parse("engine", name) for name in ENGINES] == list(ENGINES)
    with pytest.raises(BadOption, match="leveldb"):
        options.parse("engine", "no-such-engine")


def test_a_tool_opens_what_is_there_and_makes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "db"
    with pytest.raises(StoreUnavailable, match="is not a data directory"):
        open_directory(place)
    assert not place.exists()
    first = open_engine(Options(dir=str(place), disk_reserve_bytes=0))
    first.write({b"row": b"value"})
    first.close()
    again = open_directory(place)
    assert again.get(b"row") == b"value"
    again.close()
