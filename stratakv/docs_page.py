"""Writes the generated docs: `python -m stratakv.docs_page`.

docs/commands.md is made from the command table, the option table in docs/operations.md from
options.py, the table of metas in docs/encodings.md from formats.py; tests hold them fresh.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from stratakv import options
from stratakv.differences import DIFFERENCES
from stratakv.encodings.layout.formats import NAMES, TABLE
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
    return _with_table(text, "options", _option_rows())


def with_formats(text: str) -> str:
    """The page of the stored format with its table of encode-versions made anew."""
    return _with_table(text, "formats", _format_rows())


def _with_table(text: str, name: str, lines: Iterable[str]) -> str:
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    table = "\n".join(lines)
    return f"{before}{start}\n{table}\n{end}{after}"


def _format_rows() -> Iterator[str]:
    yield "| key-type | number | encode-version | what it is | extra | rows | in Redis |"
    yield "|---|---|---|---|---|---|---|"
    for one in TABLE:
        name = NAMES[one.type].decode()
        kinds = ", ".join(f"`{prefix.decode()}`" for prefix in one.stored) or "none"
        tier = "values" if one.remote else "entries" if one.tiered else ""
        facts = (name, one.type, one.version, one.summary, one.extra.value, kinds, tier)
        yield f"| {' | '.join(map(str, facts))} |"


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
    for name, renew in (("operations.md", with_options), ("encodings.md", with_formats)):
        made = docs / name
        made.write_text(renew(made.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
