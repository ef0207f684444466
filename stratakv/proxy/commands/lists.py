"""List commands that never wait; those that do are in blocking.py."""

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout.metas import LIST
from stratakv.encodings.types.lists import lists
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, INT64_MIN, Args, integer, ranged
from stratakv.proxy.arguments.pop_options import ENDS, LEFT, pop_options
from stratakv.proxy.commands import effects, streaks
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, OK, Reply, Stream

command = CommandGroup("list").command

_SIDES: Final = {b"LEFT": True, b"RIGHT": False}


# at the ends


@command(
    "LPUSH key element [element ...]",
    "write denyoom fast",
    key_flags="RW insert",
    streak=streaks.lpush,
)
def lpush(txn: Txn, key: bytes, *elements: bytes) -> int:
    """Add elements at the head of a list."""
    return lists.push(txn, key, elements, left=True)


@command(
    "RPUSH key element [element ...]",
    "write denyoom fast",
    key_flags="RW insert",
    streak=streaks.rpush,
)
def rpush(txn: Txn, key: bytes, *elements: bytes) -> int:
    """Add elements at the tail of a list."""
    return lists.push(txn, key, elements, left=False)


@command(
    "LPUSHX key element [element ...]", "write denyoom fast", key_flags="RW insert", since="2.2.0"
)
def lpushx(txn: Txn, key: bytes, *elements: bytes) -> int:
    """Add elements at the head of a list that exists."""
    return lists.push(txn, key, elements, left=True, only_existing=True)


@command(
    "RPUSHX key element [element ...]", "write denyoom fast", key_flags="RW insert", since="2.2.0"
)
def rpushx(txn: Txn, key: bytes, *elements: bytes) -> int:
    """Add elements at the tail of a list that exists."""
    return lists.push(txn, key, elements, left=False, only_existing=True)


@command("LPOP key [count]", "write fast", key_flags="RW access delete")
def lpop(txn: Txn, key: bytes, *wanted: bytes) -> Reply:
    """Remove and return the first elements of a list."""
    return _pop_many(txn, "lpop", key, wanted) if wanted else lists.pop(txn, key, left=True)


@command("RPOP key [count]", "write fast", key_flags="RW access delete")
def rpop(txn: Txn, key: bytes, *wanted: bytes) -> Reply:
    """Remove and return the last elements of a list."""
    return _pop_many(txn, "rpop", key, wanted) if wanted else lists.pop(txn, key, left=False)


def _pop_many(txn: Txn, name: str, key: bytes, wanted: Sequence[bytes]) -> Reply:
    if len(wanted) > 1:
        raise errors.wrong_arity(name)
    limit = ranged(wanted[0], 0, INT64_MAX, errors.NOT_POSITIVE)
    popped = lists.pop_many(txn, key, limit, left=name == "lpop")
    return NULL_ARRAY if popped is None else popped


@command(
    "LMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT>",
    "write denyoom",
    key_flags="RW access delete, RW insert",
    since="6.2.0",
)
def lmove(txn: Txn, source: bytes, destination: bytes, origin: bytes, goal: bytes) -> bytes | None:
    """Move an element from an end of a list to an end of another, or of the same."""
    from_left, to_left = side(origin), side(goal)
    return lists.move(txn, source, destination, from_left=from_left, to_left=to_left)


@command(
    "RPOPLPUSH source destination",
    "write denyoom",
    key_flags="RW access delete, RW insert",
    since="1.2.0",
)
def rpoplpush(txn: Txn, source: bytes, destination: bytes) -> bytes | None:
    """Move the last element of a list to the head of another."""
    return lists.move(txn, source, destination, from_left=False, to_left=True)


@command(
    "LMPOP numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
    "write movablekeys",
    key_flags="RW access delete",
    since="7.0.0",
    effect=effects.of_lmpop,
)
def lmpop(txn: Txn, *arguments: bytes) -> Reply:
    """Remove and return elements of the first list that is not empty."""
    options = pop_options(arguments, ENDS)
    for key in options.keys:
        popped = lists.pop_many(txn, key, options.wanted, left=options.side == LEFT)
        if popped is not None:
            return [key, popped]
    return NULL_ARRAY


def side(word: bytes) -> bool:
    """Whether a word is LEFT; it must be that or RIGHT."""
    found = _SIDES.get(word.upper())
    if found is None:
        raise errors.syntax()
    return found


# by index


@command("LLEN key", "readonly fast", key_flags="RO")
def llen(txn: Txn, key: bytes) -> int:
    """Return the number of elements of a list."""
    return lists.length(txn, key)


@command("LRANGE key start stop", "readonly")
def lrange(txn: Txn, key: bytes, start: bytes, stop: bytes) -> Reply:
    """Return the elements from one index to another."""
    total, found = lists.select(txn, key, integer(start), integer(stop))
    return Stream(list, total, found) if txn.is_long else list(found)


@command("LINDEX key index", "readonly")
def lindex(txn: Txn, key: bytes, index: bytes) -> bytes | None:
    """Return the element at an index."""
    meta = txn.look_up(key, LIST)
    return None if meta is None else lists.find(txn, meta, integer(index))


@command("LSET key index element", "write denyoom", key_flags="RW update")
def lset(txn: Txn, key: bytes, index: bytes, element: bytes) -> Reply:
    """Replace the element at an index."""
    meta = txn.expect(key, LIST)
    if meta is None:
        raise CommandError(errors.NO_SUCH_KEY)
    lists.assign(txn, key, meta, integer(index), element)
    return OK


@command("LTRIM key start stop", "write", key_flags="RW delete")
def ltrim(txn: Txn, key: bytes, start: bytes, stop: bytes) -> Reply:
    """Remove all elements but those from one index to another."""
    lists.trim(txn, key, integer(start), integer(stop))
    return OK


# by value


@command(
    "LINSERT key <BEFORE | AFTER> pivot element",
    "write denyoom",
    key_flags="RW insert",
    since="2.2.0",
)
def linsert(txn: Txn, key: bytes, where: bytes, pivot: bytes, element: bytes) -> int:
    """Add an element before or after another."""
    word = where.upper()
    if word not in (b"BEFORE", b"AFTER"):
        raise errors.syntax()
    return lists.insert(txn, key, pivot, element, before=word == b"BEFORE")


@command("LREM key count element", "write", key_flags="RW delete")
def lrem(txn: Txn, key: bytes, limit: bytes, element: bytes) -> int:
    """Remove elements that are equal to one."""
    return lists.remove(txn, key, integer(limit), element)


class SearchOptions(NamedTuple):
    """LPOS: which match to begin with, how many are wanted, how many elements to compare."""

    rank: int = 1
    wanted: int | None = None
    look_at: int = 0


@command("LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]", "readonly", since="6.0.6")
def lpos(txn: Txn, key: bytes, element: bytes, *words: bytes) -> Reply:
    """Return the indexes of elements that are equal to one."""
    options = _search_options(words)
    meta = txn.look_up(key, LIST)
    found: list[int] = []
    if meta is not None:
        reverse, look_at = options.rank < 0, options.look_at or UNLIMITED
        places = lists.positions(txn, meta, element, reverse=reverse, look_at=look_at)
        skipped = abs(options.rank) - 1
        wanted = 1 if options.wanted is None else options.wanted or UNLIMITED
        if options.rank == INT64_MIN:  # has no opposite: Redis then skips none, and counts none
            skipped, wanted = 0, 1 if options.wanted is None else UNLIMITED
        found = list(islice(places, skipped, min(skipped + wanted, UNLIMITED)))
    if options.wanted is None:
        return found[0] if found else None
    return found


def _search_options(words: Sequence[bytes]) -> SearchOptions:
    args = Args(words)
    options = SearchOptions()
    while args:
        word = args.option()
        if word == b"RANK" and args:
            options = options._replace(rank=args.integer())
            if options.rank == 0:
                raise CommandError(errors.RANK_ZERO)
        elif word == b"COUNT" and args:
            wanted = ranged(args.take(), 0, INT64_MAX, errors.COUNT_NEGATIVE)
            options = options._replace(wanted=wanted)
        elif word == b"MAXLEN" and args:
            look_at = ranged(args.take(), 0, INT64_MAX, errors.MAXLEN_NEGATIVE)
            options = options._replace(look_at=look_at)
        else:
            raise errors.syntax()
    return options
