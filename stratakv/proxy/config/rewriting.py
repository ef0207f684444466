"""CONFIG REWRITE: what was changed while the server ran, put into its file.

Lines of other options, comments and policies stay as they are. The new file takes the place of the
old one as a whole, so a crash leaves one or the other.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ASSIGNMENT: Final = re.compile(r'\s*["\']?([A-Za-z0-9_-]+)["\']?\s*=')


def rewrite(file: Path, values: Mapping[str, str]) -> None:
    """Give options their values in a file; raises OSError or ValueError, and then it is as it was.

    The names have hyphens.
    """
    text = rewritten(file.read_text(encoding="utf-8"), values)
    beside = file.with_name(file.name + ".new")
    with beside.open("w", encoding="utf-8") as new:
        new.write(text)
        new.flush()
        os.fsync(new.fileno())
    beside.chmod(file.stat().st_mode & 0o777)
    beside.replace(file)


def rewritten(text: str, values: Mapping[str, str]) -> str:
    """The text of a file with other values; raises ValueError if it is written too oddly."""
    left = dict(values)
    lines = text.splitlines()
    end = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    for at in range(end):
        match = _ASSIGNMENT.match(lines[at])
        name = match[1].replace("_", "-") if match else ""
        if name in left:
            lines[at] = f"{name} = {_quoted(left.pop(name))}"
    added = [f"{name} = {_quoted(value)}" for name, value in left.items()]
    new = "\n".join([*lines[:end], *added, *lines[end:]]) + "\n"
    found = {name.replace("_", "-"): value for name, value in tomllib.loads(new).items()}
    if any(found.get(name) != value for name, value in values.items()):
        raise ValueError("its options cannot be told apart")
    return new


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda one: f"\\u{ord(one[0]):04x}", escaped) + '"'
