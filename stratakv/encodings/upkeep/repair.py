"""`stratakv repair` and `serve --recover`: a sound store out of what a damaged one still has."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from stratakv.encodings.upkeep.damage import describe, describe_damage
from stratakv.encodings.upkeep.recount import recount
from stratakv.errors import StoreUnavailable
from stratakv.storage.engines import open_directory
from stratakv.storage.leveldb import recovery
from stratakv.storage.leveldb.salvage import Salvage
from stratakv.storage.leveldb.survey import damages_of, is_database, is_in_use


def repair(source: Path, target: Path) -> Iterator[str]:
    """Write what can be read of a data directory into a new one; tells what is lost."""
    _require_idle(source)
    if target.exists() and any(target.iterdir()):
        raise StoreUnavailable(f"{target} is not empty: a repair writes into a new directory")
    if target.resolve().is_relative_to(source.resolve()):
        raise StoreUnavailable(f"{target} is within {source}")
    yield from _rescue(source, target)


def recover(directory: Path) -> Iterator[str]:
    """Put what can be read in the place of a damaged store, whose files are kept."""
    if not directory.is_dir() or not is_database(directory):
        return
    _require_idle(directory)
    if not recovery.is_interrupted(directory):
        if not any(damage.keeps_from_reading for damage in damages_of(directory)):
            yield f"{directory}: nothing is damaged"
            return
        yield from _rescue(directory, recovery.empty_place(directory))
        recovery.declare_whole(directory)
    kept = recovery.put_in_place(directory)
    if kept is not None:
        yield f"{directory}: the damaged files are kept in {kept.name}"


def _require_idle(directory: Path) -> None:
    if not directory.is_dir() or not is_database(directory):
        raise StoreUnavailable(f"{directory} is not a data directory")
    if is_in_use(directory):
        raise StoreUnavailable(f"data directory {directory} is in use by another process")


def _rescue(source: Path, target: Path) -> Iterator[str]:
    salvage = Salvage(source)
    for damage in salvage.damages:
        yield f"damaged: {describe_damage(source, damage)}"
    if salvage.guesses:
        yield "damaged: which tables are in use is not known; what was deleted may be back"
    try:
        salvage.into(target)
        for row in dict.fromkeys(map(describe, salvage.doubtful)):
            yield f"lost: {row.decode('latin-1')} is left in an older state only, or was deleted"
        with closing(open_directory(target)) as engine:
            for problem in recount(engine, salvage.may_have_lost):
                yield f"lost: {problem}"
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    yield f"{source}: {salvage.rows} rows read"
