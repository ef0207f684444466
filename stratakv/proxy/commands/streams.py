"""Streams: adding, reading, deleting."""

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout.metas import STREAM, Meta
from stratakv.encodings.types.streams import streams
from stratakv.encodings.types.streams.streams import MAX_ID
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args
from stratakv.proxy.arguments.stream_options import (
    TrimOptions,
    interval_end,
    interval_start,
    new_id,
    strict_id,
)
from stratakv.proxy.commands import effects
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, OK, Reply, Status, Stream

command = CommandGroup("stream").command


@command(
    "XADD key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> "
    "field value [field value ...]",
    "write denyoom fast",
    tips="nondeterministic_output",
    key_notes="may trim as well as add",
    key_flags="RW update",
    since="5.0.0",
    effect=effects.of_xadd,
)
def xadd(txn: Txn, key: bytes, *arguments: bytes) -> bytes | None:
    """Add an entry to a stream."""
    args = Args(arguments)
    options = TrimOptions()
    create = True
    wanted: int | None = None
    open_sequence = False
    while args:
        if args.accept(b"*"):
            break
        if options.accept(args):
            continue
        if args.accept(b"NOMKSTREAM"):
            create = False
            continue
        wanted, open_sequence = new_id(args.take())
        break
    entries_of_node = txn.keyspace.limits.stream_node_entries
    trim = options.finish(entries_of_node, required=False, follows=txn.follows)
    fields = args.rest()
    if len(fields) < 2 or len(fields) % 2:
        raise errors.wrong_arity("xadd")
    if wanted == 0 and not open_sequence:
        raise CommandError(errors.STREAM_ID_ZERO)
    number = streams.append(
        txn, key, wanted, fields, open_sequence=open_sequence, create=create, trim=trim
    )
    return None if number is None else streams.format_id(number)


@command("XLEN key", "readonly fast", key_flags="RO", since="5.0.0")
def xlen(txn: Txn, key: bytes) -> int:
    """Count the entries of a stream."""
    return streams.length(txn, key)


@command("XRANGE key start end [COUNT count]", "readonly", since="5.0.0")
def xrange(txn: Txn, key: bytes, start: bytes, end: bytes, *arguments: bytes) -> Reply:
    """Return the entries between two ids."""
    return _range(txn, key, interval_start(start), interval_end(end), arguments)


@command("XREVRANGE key end start [COUNT count]", "readonly", since="5.0.0")
def xrevrange(txn: Txn, key: bytes, end: bytes, start: bytes, *arguments: bytes) -> Reply:
    """Return the entries between two ids, the last first."""
    return _range(txn, key, interval_start(start), interval_end(end), arguments, reverse=True)


def _range(
    txn: Txn,
    key: bytes,
    first: int,
    last: int,
    arguments: tuple[bytes, ...],
    *,
    reverse: bool = False,
) -> Reply:
    args = Args(arguments)
    limit = UNLIMITED
    while args:
        if args.option() != b"COUNT" or not args:
            raise errors.syntax()
        limit = min(max(0, args.integer()), UNLIMITED)
    meta = txn.look_up(key, STREAM)
    if meta is None:
        return []
    if not limit:
        return NULL_ARRAY
    return entries(txn, key, meta, first, last, limit=limit, reverse=reverse)


def entries(
    txn: Txn,
    key: bytes,
    meta: Meta,
    first: int,
    last: int = MAX_ID,
    *,
    limit: int = UNLIMITED,
    reverse: bool = False,
) -> Reply:
    """The reply of a range; a long one is made as it is sent, after its entries were counted."""
    if txn.is_long:
        limit = streams.count_between(txn, meta, first, last, limit)
    found = streams.between(txn, key, meta, first, last, limit=limit, reverse=reverse)
    shown = streams.shown(found)
    return Stream(list, limit, shown) if txn.is_long else list(shown)


@command("XDEL key id [id ...]", "write fast", key_flags="RW delete", since="5.0.0")
def xdel(txn: Txn, key: bytes, *ids: bytes) -> int:
    """Delete entries of a stream."""
    if txn.expect(key, STREAM) is None:
        return 0
    return streams.delete(txn, key, [strict_id(text) for text in ids])


@command(
    "XTRIM key <MAXLEN | MINID> [= | ~] threshold [LIMIT count]",
    "write",
    tips="nondeterministic_output",
    key_flags="RW delete",
    since="5.0.0",
    effect=effects.of_xtrim,
)
def xtrim(txn: Txn, key: bytes, *arguments: bytes) -> int:
    """Delete the first entries of a stream."""
    args = Args(arguments)
    options = TrimOptions()
    while options.accept(args):
        pass
    args.finish()
    entries_of_node = txn.keyspace.limits.stream_node_entries
    trim = options.finish(entries_of_node, required=True, follows=txn.follows)
    assert trim is not None
    return streams.trim(txn, key, trim)


@command(
    "XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
    "write denyoom fast",
    key_flags="RW update",
    since="5.0.0",
)
def xsetid(txn: Txn, key: bytes, last_id: bytes, *arguments: bytes) -> Status:
    """Set what a stream knows of its last id, and of what was added and deleted."""
    last = strict_id(last_id)
    args = Args(arguments)
    added: int | None = None
    max_deleted = 0
    while args:
        word = args.option()
        if word == b"ENTRIESADDED" and args:
            added = args.integer()
            if added < 0:
                raise CommandError(errors.XSETID_ADDED)
        elif word == b"MAXDELETEDID" and args:
            max_deleted = strict_id(args.take())
            if last < max_deleted:
                raise CommandError(errors.XSETID_GIVEN_DELETED)
        else:
            raise errors.syntax()
    streams.set_last(txn, key, last, added, max_deleted)
    return OK
