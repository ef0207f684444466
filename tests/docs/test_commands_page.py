"""docs/commands.md is what the command table says, other pages what theirs say."""

from pathlib import Path

from stratakv import docs_page
from stratakv.proxy.table.registry import every_command

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_fresh() -> None:
    written = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert written == docs_page.page(), "run: python -m stratakv.docs_page"


def test_every_command_has_a_line_and_a_summary() -> None:
    page = docs_page.page()
    for entry in every_command():
        assert f"| `{entry.syntax.replace('|', chr(92) + '|')}` |" in page
        assert len(entry.summary) > 10, entry.name
        assert entry.summary.endswith("."), entry.name


def test_every_command_has_a_group_with_a_title() -> None:
    assert "## Server" in docs_page.page()
    titles = [line for line in docs_page.page().splitlines() if line.startswith("## ")]
    assert len(titles) == len(set(titles)) >= 9


def test_the_table_of_options_is_fresh() -> None:
    written = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert written == docs_page.with_options(written), "run: python -m stratakv.docs_page"


def test_the_table_of_formats_is_fresh() -> None:
    written = (ROOT / "docs" / "encodings.md").read_text(encoding="utf-8")
    assert written == docs_page.with_formats(written), "run: python -m stratakv.docs_page"
