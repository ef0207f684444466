"""How many tables LevelDB maps into memory.

LevelDB reads its first 1000 open tables through mmap. Every page of them that was read counts as
this process's memory, which then grows with the data: two gigabytes at most. Tables past that
number are read with pread at no loss of speed, but the number is a constant in LevelDB's Env. It
counts down from there in a field of that Env, which is found here by its value and set before the
first database opens (docs/decisions/0012).
"""

import ctypes
import os
import resource
import struct
import sys
from typing import Final

import plyvel

TABLE_BYTES: Final = 2 << 20
"""LevelDB's size of a table."""
DEFAULT_TABLES: Final = 1000
"""What LevelDB allows itself to map in a 64-bit process."""
DESCRIPTOR_SHARE: Final = 5
"""LevelDB keeps this part of the process's descriptors for tables that it does not map, and opens
further ones anew for every read."""
_ENV_BYTES: Final = 512
"""More than an Env has on any platform."""
_ENV_DEFAULT: Final = "_ZN7leveldb3Env7DefaultEv"
"""`leveldb::Env::Default()`, as C++ compilers name it."""

_limited = False


def map_at_most(tables: int) -> bool:
    """Let LevelDB map this many tables at a time; False if it goes on with its own number.

    There is one Env in a process, and the first caller decides.
    """
    global _limited
    if _limited or sys.platform != "linux":
        return _limited
    try:
        env = _default_env()
        place = _free_maps(env)
    except (AttributeError, OSError):  # another build of LevelDB, or a kernel that hides memory
        return False
    if place is not None:
        ctypes.c_int.from_address(env + place).value = min(tables, DEFAULT_TABLES)
        _limited = True
    return _limited


def _default_env() -> int:
    default = getattr(ctypes.CDLL(plyvel._plyvel.__file__), _ENV_DEFAULT)
    default.restype = ctypes.c_void_p
    return int(default())


def _free_maps(env: int) -> int | None:
    """Where in the Env the free maps are counted; the free descriptors are counted next to them."""
    with open("/proc/self/mem", "rb", buffering=0) as memory:  # unlike a pointer, it cannot crash
        content = os.pread(memory.fileno(), _ENV_BYTES, env)
    pair = struct.pack("=ii", DEFAULT_TABLES, _free_descriptors())
    place = content.find(pair)
    return place if place >= 0 and not place % 4 and content.count(pair) == 1 else None


def _free_descriptors() -> int:
    """What LevelDB allows itself before it has opened any."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 - 1 if soft == resource.RLIM_INFINITY else soft // DESCRIPTOR_SHARE
