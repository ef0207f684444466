"""What mypyc reads otherwise than Python does must not stand in the modules that it compiles."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MODULES: list[str] = PROJECT["tool"]["stratakv"]["compiled"]
TAKES_ALL = frozenset(
    {"all", "any", "bytes", "dict", "frozenset", "join", "list", "max", "min", "set", "sorted"}
    | {"sum", "tuple", "update", "extend"}
)


def lazy_expressions(tree: ast.AST) -> Iterator[int]:
    """The lines of generator expressions whose elements are not all taken on the spot."""
    taken: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if ast.unparse(node.func).rpartition(".")[2] in TAKES_ALL:
                taken.update(node.args)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            taken.add(node.value)
        elif isinstance(node, ast.GeneratorExp) and node not in taken:
            yield node.lineno


@pytest.mark.parametrize("module", MODULES)
def test_no_generator_expression_is_meant_to_be_lazy(module: str) -> None:
    """mypyc makes a list of it at once: a scan of a million rows would stop the server."""
    assert list(lazy_expressions(ast.parse((ROOT / module).read_text()))) == []


def test_a_lazy_expression_is_found() -> None:
    assert list(lazy_expressions(ast.parse("x = (a for a in b)\nlist(a for a in b)"))) == [1]
