"""The optional build: with STRATAKV_COMPILE=1 in the environment the hot path becomes C by mypyc.

Everything else about the package is in pyproject.toml.
"""

import os
import sys
import tomllib
from pathlib import Path

from setuptools import setup

# What the build of a package need not know: the libraries that the server runs on.
MYPY_FLAGS = ["--ignore-missing-imports", "--no-warn-unused-ignores", "--allow-subclassing-any"]

if os.environ.get("STRATAKV_COMPILE") != "1":
    setup()
elif {"bdist_wheel", "build_ext"}.isdisjoint(sys.argv):  # pip asks what the build needs, and so on
    setup(setup_requires=["mypy>=1.13"])
else:
    from mypyc.build import mypycify

    project = tomllib.loads(Path("pyproject.toml").read_text())
    modules = project["tool"]["stratakv"]["compiled"]
    setup(ext_modules=mypycify([*MYPY_FLAGS, *modules], opt_level="3", debug_level="0"))
