"""Writes the generated docs: `python -m stratakv.docs_page`.

docs/commands.md is made from the command table, the option table in docs/operations.md from
options.py; tests hold both fresh.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from stratakv import options
from stratakv.differences import DIFFERENCES
from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.table.registry import Command, every_command

_TITLES = {
    "connection": "Connection",
    "server": "Server",
    "cluster": "Cluster",
    "transactions": "Transactions",
    "generic": "Keys",
    "string": "Strings",
    "bitmap": "Bitmaps",
    "list": "Lists",
    "hash": "Hashes",
    "set": "Sets",
    "sorted-set": "Sorted sets",
}
_HEAD = """\
# Commands

All options of Redis 7.0, with its replies and its errors in RESP2 and RESP3. This page is made from
the command table by `python -m stratakv.docs_page`; a test holds it fresh. *Since*
is the version of Redis that brought the command.
"""


def page() -> str:
    """The whole page."""
    groups: dict[str, list[Command]] = {name: [] for name in _TITLES}
    for entry in every_command():
        groups.setdefault(entry.group, []).append(entry)
    parts = [_HEAD]
    for name, entries in groups.items():
        if entries:
            title = _TITLES.get(name, name.capitalize())
            parts.append(f"## {title}\n\n" + "\n".join(_table(entries)) + "\n")
    parts.append("## Differences from Redis by design\n\n" + "\n".join(_differences()) + "\n")
    return "\n".join(parts)


def _table(entries: list[Command]) -> Iterator[str]:
    yield "| command | what it does | since |"
    yield "|---|---|---|"
    for entry in sorted(entries, key=lambda one: one.name):
        syntax = entry.syntax.replace("|", "\\|")
        yield f"| `{syntax}` | {entry.summary} | {entry.since} |"


def _differences() -> Iterator[str]:
    for what, how in DIFFERENCES:
        yield f"- **{what}**: {how}."


def with_options(text: str) -> str:
    """The operations page with its table of options made anew."""
    before, _, rest = text.partition(_OPTIONS_START)
    _, _, after = rest.partition(_OPTIONS_END)
    table = "\n".join(_option_rows())
    return f"{before}{_OPTIONS_START}\n{table}\n{_OPTIONS_END}{after}"


def _option_rows() -> Iterator[str]:
    yield "| option | default | what it is | allowed | live |"
    yield "|---|---|---|---|---|"
    defaults = options.Options()
    for name, entry in options.declared().items():
        shown = options.show(defaults, name)
        default = f"`{shown}`" if shown else "none"
        kind: options.Kind = entry.metadata["kind"]
        live = "yes" if entry.metadata["live"] else ""
        allowed = kind.allowed.replace("|", "\\|")
        yield f"| `{name}` | {default} | {entry.metadata['doc']} | {allowed} | {live} |"


def write(docs: Path) -> None:
    """Make the generated parts of the docs anew."""
    (docs / "commands.md").write_text(page(), encoding="utf-8")
    operations = docs / "operations.md"
    operations.write_text(with_options(operations.read_text(encoding="utf-8")), encoding="utf-8")


_OPTIONS_START = "<!-- options -->"
_OPTIONS_END = "<!-- /options -->"


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
