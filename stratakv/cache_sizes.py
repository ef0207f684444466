"""How much memory the caches take where nobody has said so: a share of the machine's.

A container's limit counts as its machine. With `maxmemory` it is all that this leaves for them.
What is shared out is named at start-up.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from stratakv.options import Options

SHARE: Final = 16
"""One part of so many is for the caches."""
LEAST_BYTES: Final = 192 << 20
MOST_BYTES: Final = 2 << 30
OTHERS_BYTES: Final = 64 << 20
"""What the process takes without caches and write buffers, or there about."""
LEAST_LIMITED_BYTES: Final = 8 << 20
META_PARTS, BLOCK_PARTS, ROW_PARTS = 5, 2, 1
"""How the share is divided. A cached meta answers by itself; a block has to be searched."""

_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class CacheSizes(NamedTuple):
    """Limits in bytes."""

    metas: int
    blocks: int
    rows: int

    def __str__(self) -> str:
        metas, blocks, rows = (size >> 20 for size in self)
        return f"{metas} MB for metas and strings, {blocks} MB for blocks, {rows} MB for rows"


def cache_sizes(
    options: "Options", machine: int | None = None, blocks: int | None = None
) -> CacheSizes:
    """What the options say; where they say nothing, parts of a whole.

    If it is given how much the blocks take, the other two share the rest.
    """
    whole = _limited(options) if options.maxmemory else _share_of_machine(machine)
    part = whole // 8
    if blocks is None:
        blocks = options.block_cache_bytes or BLOCK_PARTS * part
    elif options.maxmemory:
        part = max(whole - blocks, LEAST_LIMITED_BYTES) // (META_PARTS + ROW_PARTS)
    return CacheSizes(
        options.meta_cache_bytes or META_PARTS * part,
        blocks,
        options.row_cache_bytes or ROW_PARTS * part,
    )


def _share_of_machine(machine: int | None) -> int:
    whole = machine_bytes() if machine is None else machine
    return min(max(whole // SHARE, LEAST_BYTES), MOST_BYTES)


def _limited(options: "Options") -> int:
    """What maxmemory leaves: LevelDB has two write buffers."""
    left = options.maxmemory - 2 * options.write_buffer_bytes - OTHERS_BYTES
    return max(left, LEAST_LIMITED_BYTES)


def machine_bytes() -> int:
    """The memory of the machine, or of the container; 0 if nothing tells."""
    found = [size for size in (_physical(), *map(_limit, _LIMITS)) if size]
    return min(found, default=0)


def _physical() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemTotal")), 0)


def _limit(path: Path) -> int:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0
