"""What a command does, in a line: the beginning of its handler's docstring.

mypyc keeps no docstrings. The source of a compiled module lies beside it, and is read when somebody
asks.
"""

import ast
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


def summary_of(handler: Callable[..., Any]) -> str:
    """The first paragraph, as one line."""
    text = inspect.getdoc(handler) or docs_in_source(handler.__module__).get(handler.__name__, "")
    return text.split("\n\n")[0].replace("\n", " ")


@cache
def docs_in_source(module: str) -> dict[str, str]:
    """The docstrings of a module's functions; none if its source is not there."""
    file = sys.modules[module].__file__ or ""
    source = Path(file).with_name(f"{module.rpartition('.')[2]}.py")
    if not source.is_file():
        return {}
    tree = ast.parse(source.read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name: ast.get_docstring(node) or "" for node in functions}
