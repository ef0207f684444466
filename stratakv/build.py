"""Which build of the package runs: with its hot path compiled to C by mypyc, or plain."""

import platform
from importlib.machinery import EXTENSION_SUFFIXES

from stratakv import __version__, clock


def kind() -> str:
    """`compiled` or `plain`: one module of the hot path stands for all, they are built as one."""
    file = clock.__file__ or ""
    return "compiled" if file.endswith(tuple(EXTENSION_SUFFIXES)) else "plain"


def description() -> str:
    """What `stratakv --version` says."""
    paths = {"compiled": "compiled hot path, mypyc", "plain": "plain hot path"}
    return f"stratakv {__version__} ({paths[kind()]}; Python {platform.python_version()})"
