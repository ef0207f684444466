"""What is written in C, compiled for a test, since the sources alone do without it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest


def compiled(source: Path, directory: Path) -> ModuleType:
    """The module out of its source, wherever there is a C compiler."""
    headers = sysconfig.get_path("include")
    if shutil.which("cc") is None or not Path(headers, "Python.h").exists():
        pytest.skip("there is no C compiler")
    target = directory / f"{source.stem}.so"
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    subprocess.run(["cc", *flags, f"-I{headers}", str(source), "-o", str(target)], check=True)
    spec = importlib.util.spec_from_file_location(source.stem, target)
    assert spec is not None
    return importlib.util.module_from_spec(spec)
