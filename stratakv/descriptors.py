"""How many files and sockets the process may have open."""

import logging
import resource

from stratakv.options import Options

log = logging.getLogger("stratakv")

DESCRIPTOR_SHARE = 5
"""LevelDB keeps this part of the process's descriptors for tables past the thousand that it maps,
and opens further ones anew for every read."""
RESERVED = 32
"""Listeners, logs, links to a Redis and the like."""


def prepare(options: Options) -> None:
    """Raise the limit as far as the options need; where it cannot be, admit fewer clients."""
    for_tables = 2 * options.max_open_files  # LevelDB's own, and those of deleted_tables.py
    wanted = options.maxclients + for_tables + RESERVED
    allowed = _raise_to(max(wanted, options.max_open_files * DESCRIPTOR_SHARE))
    if allowed < wanted:
        asked = options.maxclients
        options.maxclients = max(1, allowed - min(for_tables, allowed // 2) - RESERVED)
        log.warning(
            "maxclients is %d instead of %d: the system allows %d open files (ulimit -n)",
            options.maxclients,
            asked,
            allowed,
        )


def _raise_to(wanted: int) -> int:
    """Raise the soft limit as far as the hard one allows; returns how much of it there is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    possible = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (possible, hard))
    except (OSError, ValueError):  # a system with a limit of its own, below the hard one
        return soft
    return possible
