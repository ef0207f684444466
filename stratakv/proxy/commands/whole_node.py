"""Commands over all keys of a node, where those are in many groups of slots.

They take the places of the handlers that know one database (`use_whole_node`). A cursor of SCAN has
the number of a group in its lowest bits, and the rest of it is a place there.
"""

import random
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.txn import ROW_BUDGET, Txn
from stratakv.encodings.types.keys import keys
from stratakv.errors import CommandError
from stratakv.proxy.arguments.scanning import parse_cursor
from stratakv.proxy.clients.session import Session
from stratakv.proxy.commands.keys import scan as scan_one
from stratakv.proxy.run.spaces import Space
from stratakv.proxy.table.registry import TABLE, Command, Handler
from stratakv.proxy.wire.replies import Reply, Stream
from stratakv.storage.missing import TooLong

_GROUP_MASK: Final = keys.GRAIN - 1
_HANDLERS: Final = {b"scan": "scan", b"keys": "keys_", b"dbsize": "dbsize", b"randomkey": "choose"}


_REFUSED: Final = (
    *(b"save", b"bgsave", b"replicaof", b"slaveof", b"psync", b"sync"),
    *(b"strata backup", b"strata reencode", b"strata compact", b"strata adopt"),
)


def use_whole_node() -> None:
    """Have these commands go over all groups of this node. Requires: it is done once."""
    for name, handler in _HANDLERS.items():
        _replace(TABLE[name], globals()[handler])
    for name in _REFUSED:
        word, _, second = name.partition(b" ")
        entry = TABLE[word]
        _replace(entry.subcommands[second] if second else entry, refuse)


def _replace(entry: Command, handler: Handler) -> None:
    entry.handler = handler
    entry.takes_session, entry.only_reads, entry.streak = True, False, None


def refuse(session: Session, *words: bytes) -> Reply:
    """What goes over the rows of one store, or follows its changes, is not there."""
    raise CommandError(errors.NOT_WITH_GROUPS)


def _txn_of(session: Session, space: Space) -> Txn:
    """The Txn that a command reads a group with; what is long goes on in it."""
    if session.txn.keyspace is space.keyspace:
        return session.txn
    if session.unit is not None:
        space.txn.budget = ROW_BUDGET
        return space.txn
    session.select(space.txn.db.index)
    session.txn.budget = ROW_BUDGET
    return session.txn


def scan(session: Session, cursor: bytes, *options: bytes) -> Reply:
    """Go through the keys in steps; the cursor of a reply asks for the next step."""
    place = parse_cursor(cursor)
    spaces = sorted(session.server.spaces, key=lambda space: space.group)
    group = place & _GROUP_MASK
    left = [space for space in spaces if space.group >= group]
    if not left:
        return [b"0", []]
    space = left[0]
    start = place - group if space.group == group else 0
    answer = scan_one(_txn_of(session, space), b"%d" % start, *options)
    assert isinstance(answer, list)
    following, found = int(answer[0]), answer[1]
    if following:
        following += space.group
    elif len(left) > 1:
        following = left[1].group
    return [b"%d" % following, found]


def keys_(session: Session, pattern: bytes) -> Reply:
    """List the keys that match a pattern."""
    if not session.txn.is_long:
        if session.unit is None:
            session.select(0)  # what waits in any group is committed first
        raise TooLong
    found: list[bytes] = []
    for space in session.server.spaces:
        snapshot = space.store.snapshot()
        txn = LongTxn(
            space.keyspace,
            space.keyspace.databases[0],
            snapshot,
            session.server.slices.pause,
            _write_nothing,
        )
        try:
            found += keys.matching(txn, pattern)
        finally:
            txn.close()
            snapshot.close()
    return Stream(list, len(found), keys.drained(found))


def dbsize(session: Session) -> int:
    """Count the keys of the database."""
    spaces = session.server.spaces
    for space in spaces:
        session.server.group_turns.use(session, space)
    return sum(keys.count(space.txn) for space in spaces)


def choose(session: Session) -> bytes | None:
    """Return some key."""
    spaces = [space for space in session.server.spaces if space.keys]
    if not spaces:
        return None
    asked = [space for space in spaces if space.txn is session.txn and space.txn.answers]
    (space,) = asked or random.choices(spaces, [space.keys for space in spaces])
    return keys.choose(_txn_of(session, space))


def _write_nothing(rows: object) -> None:
    raise AssertionError("a reader writes nothing")
