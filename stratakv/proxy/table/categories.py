"""ACL categories: what follows for a command from its flags and from its group."""

from collections.abc import Iterable
from typing import Final

_NAMES = """
    keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin
    fast slow blocking dangerous connection transaction scripting"""
CATEGORIES: Final = _NAMES.split()
"""Redis's ACL categories in the order in which it lists them."""

_OF_GROUPS: Final = {
    **dict.fromkeys(("server", "cluster", "pubsub"), ""),
    "generic": "keyspace",
    "sorted-set": "sortedset",
    "transactions": "transaction",
}
"""Where the category of a group has another name than the group, or where it has none."""

_OF_FLAGS: Final = {
    "write": ("write",),
    "readonly": ("read",),
    "blocking": ("blocking",),
    "pubsub": ("pubsub",),
    "admin": ("admin", "dangerous"),
}


def of_group(group: str) -> str:
    """The category of the commands of a group, or nothing."""
    return _OF_GROUPS.get(group, group)


def of_command(flags: frozenset[str], named: Iterable[str]) -> frozenset[str]:
    """The named categories, and those that follow from the flags."""
    found = set(named)
    is_script = "scripting" in found
    for flag, implied in _OF_FLAGS.items():
        if flag in flags:
            found.update(implied)
    if is_script:
        found.discard("read")  # what a script does is known to itself alone
    found.add("fast" if "fast" in flags else "slow")
    return frozenset(found)
