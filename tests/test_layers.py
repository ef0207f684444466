"""The shape of the program: imports point one way, and a word names one thing in every layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import stratakv

ROOT = Path(stratakv.__file__).resolve().parent
LAYERS = ("proxy", "encodings", "storage")
MODULES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text()) for path in MODULES}
ROOMS = {
    "encodings": ("upkeep", "rdb", "types", "tier", "keyspace", "layout"),
    "proxy": (
        "server",
        "commands",
        "jobs",
        "config",
        "replication",
        "scripting",
        "groups",
        "run",
        "cluster",
        "observe",
        "clients",
        "access",
        "table",
        "arguments",
        "wire",
    ),
}
"""Each room knows only those behind it."""
FOREIGN = {
    "plyvel": ("storage",),
    "hiredis": ("proxy", "storage"),
    "greenlet": ("proxy",),
    "asyncio": ("proxy", "storage"),
    "google": ("storage",),
    "kazoo": ("storage",),
    "rich": (),
    "aiohttp": (),
}
"""Libraries that some layers alone know; the storage speaks to a Redis as the proxy to clients."""

THREADS = {"Thread", "Timer", "ThreadPoolExecutor", "run_in_executor", "to_thread"}
MAY_START_THREADS = {
    "storage/threads.py",
    "storage/store.py",
    "storage/hbase/thread.py",  # its engine ends it
    "storage/hbase/coordination.py",  # as that
    "storage/hbase/zookeeper.py",  # waits for the end of kazoo
    "proxy/groups/ownership.py",  # they wait for HBase, and end with the groups
    "proxy/observe/metrics.py",  # its thread imports modules, and knows no engine
}


def name_of(path: Path) -> str:
    """The dotted name of a module within stratakv."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def imported(path: Path, *, at_runtime: bool = False) -> Iterator[str]:
    """The dotted names that a module imports; those for the type checker only if asked for."""
    skipped = set(_only_for_types(TREES[path])) if at_runtime else set()
    for node in ast.walk(TREES[path]):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _only_for_types(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from (inner for line in node.body for inner in ast.walk(line))


def layer_of(path: Path) -> str | None:
    first = path.relative_to(ROOT).parts[0]
    return first if first in LAYERS else None


def room_of(name: str) -> tuple[str, str] | None:
    """Layer and room of a dotted name within stratakv, if it stands in one."""
    parts = name.split(".")
    if len(parts) < 2 or parts[1] not in ROOMS.get(parts[0], ()):
        return None
    return parts[0], parts[1]


def offenders(is_wrong: Callable[[Path, str], bool], *, at_runtime: bool = False) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        for name in imported(path, at_runtime=at_runtime)
        if is_wrong(path, name)
    ]


def test_imports_point_from_the_proxy_to_the_encodings_to_the_storage() -> None:
    def is_wrong(path: Path, name: str) -> bool:
        layer = layer_of(path)
        above = LAYERS[: LAYERS.index(layer)] if layer else ()
        return name.startswith(tuple(f"stratakv.{one}" for one in above))

    assert not offenders(is_wrong)


def test_each_room_knows_only_those_behind_it() -> None:
    def is_wrong(path: Path, name: str) -> bool:
        here = room_of(name_of(path))
        there = room_of(name.removeprefix("stratakv."))
        if here is None or there is None or here[0] != there[0]:
            return False
        order = ROOMS[here[0]]
        return order.index(there[1]) < order.index(here[1])

    assert not offenders(is_wrong, at_runtime=True)


def test_no_module_imports_itself_through_others() -> None:
    graph = {
        name_of(path): {
            name.removeprefix("stratakv.")
            for name in imported(path, at_runtime=True)
            if name.removeprefix("stratakv.") in NAMES
        }
        for path in MODULES
        if path.name != "__init__.py"
    }
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way, name))
        if name not in done:
            for other in sorted(graph.get(name, ())):
                visit(other, (*way, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_every_package_lists_its_modules() -> None:
    for path in MODULES:
        if path.name != "__init__.py" or path.parent == ROOT or path.parent.name == "commands":
            continue
        text = ast.get_docstring(TREES[path], clean=False) or ""
        listed = re.findall(r"^    (\w+)  ", text, re.MULTILINE)
        there = {one.stem for one in path.parent.glob("*.py")} - {"__init__"}
        there |= {one.parent.name for one in path.parent.glob("*/__init__.py")}
        assert sorted(listed) == sorted(there), path


def test_each_library_is_known_to_its_layers_alone() -> None:
    def is_wrong(path: Path, name: str) -> bool:
        owner = FOREIGN.get(name.split(".")[0])
        layer = layer_of(path)
        return owner is not None and layer is not None and layer not in owner

    assert not offenders(is_wrong)


def test_the_tools_stand_above_the_layers() -> None:
    def is_wrong(path: Path, name: str) -> bool:
        return layer_of(path) is not None and name.startswith("stratakv.tools")

    assert not offenders(is_wrong)


def test_the_console_knows_nothing_of_the_server() -> None:
    """It is a process of its own, and speaks to the server as any client does."""
    known = ("stratakv.console", "stratakv.options", "stratakv.storage.cache.address")

    def is_wrong(path: Path, name: str) -> bool:
        here = path.relative_to(ROOT).parts[0]
        if here != "console":
            return here != "cli.py" and name.startswith("stratakv.console")
        return name.startswith("stratakv.") and not name.startswith(known)

    assert not offenders(is_wrong)


def test_only_the_encodings_know_the_prefixes_of_rows() -> None:
    prefixes = {b"m#", b"s#", b"k#", b"i#", b"e#", b"g#", b"n#", b"x#", b"d#"}
    for path in MODULES:
        if layer_of(path) == "encodings":
            continue
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
                assert node.value[:2] not in prefixes, f"{path}:{node.lineno}"


@pytest.mark.parametrize("layer", ["proxy/commands", "encodings/types"])
def test_a_group_of_data_commands_has_an_encoding_of_the_same_name(layer: str) -> None:
    types = {"strings", "hashes", "lists", "sets", "zsets", "streams", "geo", "keys"}
    names = {path.stem for path in (ROOT / layer).rglob("*.py")}
    assert types <= names, f"{layer} lacks {types - names}"


def test_every_module_says_what_it_is_for() -> None:
    for path, tree in TREES.items():
        assert ast.get_docstring(tree), path


def test_threads_belong_to_the_store_which_ends_them_before_the_engine_closes() -> None:
    for path, tree in TREES.items():
        named = {
            node.attr if isinstance(node, ast.Attribute) else node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute | ast.Name)
        }
        assert not named & THREADS or str(path.relative_to(ROOT)) in MAY_START_THREADS


def test_the_storage_alone_knows_which_engine_it_is() -> None:
    engines = ("stratakv.storage.leveldb.engine", "stratakv.storage.memory")
    above = [path for path in MODULES if layer_of(path) != "storage"]
    assert not offenders(lambda path, name: path in above and name.startswith(engines))
    assert not [f"{path}:{line}" for path in above for line in _reaches_for_the_engine(path)]


def _reaches_for_the_engine(path: Path) -> Iterator[int]:
    """Lines with `store.engine`, by whatever way they come to the store."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Attribute) and node.attr == "engine":
            owner = ast.unparse(node.value)
            if owner.rpartition(".")[2].strip("_") == "store":
                yield node.lineno
