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


Value = str | list[str]


def rewrite(file: Path, values: Mapping[str, Value]) -> None:
    """Give options their values in a file; raises OSError or ValueError, and then it is as it was.

    The names have hyphens.
    """
    put(file, rewritten(file.read_text(encoding="utf-8"), values).encode())


def put(file: Path, data: bytes) -> None:
    """Give a file another content, whole or not at all; raises OSError."""
    file = file.resolve()  # of a link, what it points to
    beside = file.with_name(file.name + ".new")
    try:
        with beside.open("wb") as new:
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
        beside.chmod(file.stat().st_mode & 0o777)
        beside.replace(file)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def rewritten(text: str, values: Mapping[str, Value]) -> str:
    """The text of a file with other values; raises ValueError if it is written too oddly."""
    left = dict(values)
    lines = text.splitlines()
    new_lines: list[str] = []
    at = 0
    while at < len(lines) and not lines[at].lstrip().startswith("["):
        match = _ASSIGNMENT.match(lines[at])
        name = match[1].replace("_", "-") if match else ""
        end = _end_of(lines, at) if match else at + 1
        if name in left:
            new_lines.append(f"{name} = {_shown(left.pop(name))}")
        else:
            new_lines += lines[at:end]
        at = end
    new_lines += [f"{name} = {_shown(value)}" for name, value in left.items()]
    new = "\n".join([*new_lines, *lines[at:]]) + "\n"
    found = {name.replace("_", "-"): value for name, value in tomllib.loads(new).items()}
    if any(found.get(name) != value for name, value in values.items()):
        raise ValueError("its options cannot be told apart")
    return new


def _end_of(lines: list[str], start: int) -> int:
    """Where an assignment ends, which may take several lines."""
    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return start + 1


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return "[\n" + "".join(f"    {_quoted(one)},\n" for one in value) + "]"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda one: f"\\u{ord(one[0]):04x}", escaped) + '"'
