"""The shape of the program: imports point one way, and a word names one thing in every layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import stratakv

ROOT = Path(stratakv.__file__).resolve().parent
LAYERS = ("proxy", "encodings", "storage")
MODULES = sorted(ROOT.rglob("*.py"))
FOREIGN = {
    "plyvel": ("storage",),
    "hiredis": ("proxy", "storage"),
    "greenlet": ("proxy",),
    "asyncio": ("proxy", "storage"),
}
"""Libraries that some layers alone know; the storage speaks to a Redis as the proxy to clients."""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def layer_of(path: Path) -> str | None:
    first = path.relative_to(ROOT).parts[0]
    return first if first in LAYERS else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_from_the_proxy_to_the_encodings_to_the_storage(path: Path) -> None:
    layer = layer_of(path)
    if layer is None:
        return
    above = LAYERS[: LAYERS.index(layer)]
    wrong = [
        name for name in imported(path) if name.startswith(tuple(f"stratakv.{a}" for a in above))
    ]
    assert not wrong, f"{layer} knows nothing of {above}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_library_is_known_to_its_layers_alone(path: Path) -> None:
    layer = layer_of(path)
    for name in imported(path):
        owner = FOREIGN.get(name.split(".")[0])
        assert owner is None or layer is None or layer in owner, f"{name} belongs to {owner}"


def test_only_the_encodings_know_the_prefixes_of_rows() -> None:
    prefixes = {b"m#", b"s#", b"k#", b"i#", b"e#", b"g#", b"n#", b"x#", b"d#"}
    for path in MODULES:
        if layer_of(path) == "encodings":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
                assert node.value[:2] not in prefixes, f"{path}:{node.lineno}"


def test_a_group_of_data_commands_has_an_encoding_of_the_same_name() -> None:
    types = {"strings", "hashes", "lists", "sets", "zsets", "streams", "geo", "keys"}
    for layer in ("proxy/commands", "encodings/types"):
        names = {path.stem for path in (ROOT / layer).rglob("*.py")}
        assert types <= names, f"{layer} lacks {types - names}"


def test_every_module_says_what_it_is_for() -> None:
    for path in MODULES:
        assert ast.get_docstring(ast.parse(path.read_text())), path


THREADS = {"Thread", "Timer", "ThreadPoolExecutor", "run_in_executor", "to_thread"}
MAY_START_THREADS = {
    "storage/threads.py",
    "storage/store.py",
    "proxy/observe/metrics.py",  # its thread imports modules, and knows no engine
}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_threads_belong_to_the_store_which_ends_them_before_the_engine_closes(path: Path) -> None:
    named = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert not named & THREADS or str(path.relative_to(ROOT)) in MAY_START_THREADS
