"""The mark of a store in the Redis that holds the scores of its sorted sets v3.

    Redis    "stratakv#store"        -> token        a single server
             "stratakv#store{n}"     -> token        a cluster: 0 <= n < 128, spread over its slots
    store    "!zset-store"           -> "?" | token  it is being written
                                        "!" | token  it was written: scores may be there from now on

Whoever finds the mark missing has a Redis that was emptied, or another one; whoever finds another
token has the scores of another store. In both cases nothing that this Redis says, or does not say,
is true of our keys.
"""

import secrets
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

from stratakv.slots import slot_of
from stratakv.storage.cache.contract import Cache
from stratakv.storage.cache.slots import Words, split

NAME: Final = b"stratakv#store"
CLUSTER_MARKS: Final = 128
"""So many that a master without one has next to no slots."""
PENDING, WRITTEN = b"?", b"!"

EMPTIED: Final = (
    "it does not have the mark of this store: it was emptied, restarted without its data, or is"
    " another Redis. Bring its data back, or accept the loss with STRATA ADOPT"
)
FOREIGN: Final = (
    "it has the mark of another store, whose scores it keeps; name the Redis or the database of"
    " this store, or an empty one"
)

_CLUSTER_NAMES: Final = tuple(b"%b{%d}" % (NAME, n) for n in range(CLUSTER_MARKS))
_BY_SLOT: Final = sorted((slot_of(name), n) for n, name in enumerate(_CLUSTER_NAMES))


def new_token() -> bytes:
    """A token that no other store has."""
    return secrets.token_hex(16).encode()


def names_in(storage: Cache) -> tuple[bytes, ...]:
    """The names of all marks in a Redis or a cluster."""
    return (NAME,) if _is_single(storage) else _CLUSTER_NAMES


def mark_near(storage: Cache, request: Words) -> bytes:
    """The mark that is most likely on the same server as what a request is about."""
    if _is_single(storage):
        return NAME
    at = bisect_right(_BY_SLOT, (split(request)[0].slot, CLUSTER_MARKS)) - 1
    return _CLUSTER_NAMES[_BY_SLOT[at][1]]


def _is_single(storage: Cache) -> bool:
    return storage.together(_CLUSTER_NAMES[0], _CLUSTER_NAMES[1])


def judge(marks: Sequence[Any], token: bytes) -> str:
    """Why a Redis with these marks is not the one of the token's store, or nothing."""
    if any(mark is not None and mark != token for mark in marks):
        return FOREIGN
    return EMPTIED if None in marks else ""
