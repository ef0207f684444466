"""Reading streams, alone or in a group, and waiting for entries.

A client that found nothing is parked, and then served from the one stream that got an entry.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import STREAM, Meta
from stratakv.encodings.types.streams import stream_groups, streams
from stratakv.encodings.types.streams.stream_groups import Group
from stratakv.encodings.types.streams.streams import MAX_ID
from stratakv.errors import CommandError
from stratakv.proxy.arguments.stream_options import (
    LAST,
    NEW,
    ReadOptions,
    limit_of,
    read_options,
    seconds,
    stream_keys,
    strict_id,
)
from stratakv.proxy.commands import effects
from stratakv.proxy.commands.streams import entries
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.table.keyspecs import KeySpec
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, Keyed, Reply, Stream
from stratakv.storage.missing import TooLong

command = CommandGroup("stream").command

_SERVED_AT_ONCE: Final = 1000
"""Entries that a client gets after a wait, if it gave no COUNT."""

Seen = tuple[int, int] | None
"""A stream's version and the number of entries it ever had: it changes with every XADD."""


def _after_streams(start: int) -> tuple[KeySpec, ...]:
    """Half of what follows STREAMS, which is looked for from `start`."""
    return (KeySpec(("RO", "access"), start, last=-1, keyword="STREAMS", limit=2),)


@command(
    "XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
    "readonly blocking movablekeys",
    keys=(0, 0, 0),
    key_finder=partial(stream_keys, 1),
    key_specs=_after_streams(1),
    arity=-4,
    since="5.0.0",
)
def xread(txn: Txn, *arguments: bytes) -> Reply:
    """Return the entries behind given ids, or wait for one."""
    options = read_options(arguments, grouped=False)
    after = [_after(txn, *place) for place in zip(options.keys, options.ids, strict=True)]
    found = Keyed()
    for key, number in zip(options.keys, after, strict=True):
        meta = txn.read(key)
        if meta is not None and _has_after(txn, meta, number):
            reply = entries(txn, key, meta, number + 1, limit=limit_of(options.limit))
            found.append((key, reply))
    if found:
        return found
    if options.block_ms is None:
        return NULL_ARRAY
    ids = [streams.format_id(number) for number in after]
    raise _wait(txn, options, arguments, ids, _Reader(options, after))


def _after(txn: Txn, key: bytes, text: bytes) -> int:
    """The id behind which a client wants to read."""
    meta = txn.look_up(key, STREAM)
    if text == LAST:
        return 0 if meta is None else streams.decode_state(meta).last
    if text == b">":
        raise CommandError(errors.NEW_OF_XREAD)
    return strict_id(text)


def _has_after(txn: Txn, meta: Meta, number: int) -> bool:
    return number < MAX_ID and streams.count_between(txn, meta, number + 1, MAX_ID, 1) > 0


@command(
    "XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key "
    "[key ...] id [id ...]",
    "write blocking movablekeys",
    keys=(0, 0, 0),
    key_finder=partial(stream_keys, 4),
    key_specs=_after_streams(4),
    arity=-7,
    since="5.0.0",
    effect=effects.of_xreadgroup,
)
def xreadgroup(txn: Txn, *arguments: bytes) -> Reply:
    """Return entries that no consumer of a group has read, or those that are pending with one."""
    options = read_options(arguments, grouped=True)
    after = [
        _after_in_group(txn, options, *place)
        for place in zip(options.keys, options.ids, strict=True)
    ]
    found = Keyed()
    for key, number in zip(options.keys, after, strict=True):
        reply = _read_in_group(txn, options, key, number)
        if reply is not None:
            found.append((key, reply))
    if found:
        return found
    if options.block_ms is None:
        return NULL_ARRAY
    raise _wait(txn, options, arguments, options.ids, _Reader(options, after))


def _after_in_group(txn: Txn, options: ReadOptions, key: bytes, text: bytes) -> int:
    assert options.group is not None
    if stream_groups.find(txn, key, options.group) is None:
        raise errors.no_group(key, options.group, b" in XREADGROUP with GROUP option")
    if text == LAST:
        raise CommandError(errors.LAST_ID_OF_GROUP)
    return NEW if text == b">" else strict_id(text)


def _read_in_group(txn: Txn, options: ReadOptions, key: bytes, number: int) -> Reply:
    assert options.group is not None
    place = stream_groups.find(txn, key, options.group)
    assert place is not None
    meta, group = place
    limit = limit_of(options.limit)
    if number != NEW:
        consumer = group.see_consumer(options.consumer)
        again = stream_groups.history(group, meta, consumer, number + 1, limit)
        group.save()
        return _listed([[text, NULL_ARRAY if fields is None else fields] for text, fields in again])
    if not _has_after(txn, meta, group.last):
        return None
    return _deliver(txn, options, key, meta, group, limit)


def _deliver(
    txn: Txn, options: ReadOptions, key: bytes, meta: Meta, group: Group, limit: int
) -> Reply:
    """Give a consumer what nobody has read."""
    group.see_consumer(options.consumer)
    new = streams.between(txn, key, meta, group.last + 1, limit=limit)
    state = streams.decode_state(meta)
    fresh = stream_groups.deliver(group, state, options.consumer, new, acknowledged=options.no_ack)
    group.save()
    return _listed(fresh)


def _listed(found: Sequence[object]) -> Reply:
    return Stream(list, len(found), found) if len(found) > _SERVED_AT_ONCE else found


# waiting


def _wait(
    txn: Txn,
    options: ReadOptions,
    arguments: tuple[bytes, ...],
    ids: Sequence[bytes],
    reader: "_Reader",
) -> WouldBlock:
    """The wait of a client; should its command begin anew, `$` still means what it means now."""
    assert options.block_ms is not None
    for key in options.keys:
        reader.note(txn, key)
    name = b"XREAD" if options.group is None else b"XREADGROUP"
    count = b"%d" % (options.limit or _SERVED_AT_ONCE)
    before = arguments[: -2 * len(ids) - 1]
    request = [name, *before, b"COUNT", count, b"STREAMS", *options.keys, *ids]
    return WouldBlock(
        options.keys,
        seconds(options.block_ms),
        NULL_ARRAY,
        serve=reader,
        request=request,
        minds_loss=options.group is not None,
    )


class _Reader:
    """A client that waits for new entries; called when one of its streams has changed."""

    def __init__(self, options: ReadOptions, after: Sequence[int]) -> None:
        self._options = options
        self._after = dict(zip(reversed(options.keys), reversed(after), strict=True))
        self._seen: dict[bytes, Seen] = {}

    def note(self, txn: Txn, key: bytes) -> bool:
        """Whether entries were added to a stream since the last look."""
        meta = txn.find(key)
        seen = None
        if meta is not None and meta.type == STREAM:
            seen = (meta.version, streams.decode_state(meta).added)
        is_new = seen is not None and self._seen.get(key) != seen
        self._seen[key] = seen
        return is_new

    def __call__(self, txn: Txn, key: bytes) -> Reply:
        """The reply, if there is one now; raises WouldBlock to go on waiting."""
        seen = self._seen.get(key)
        try:
            return self._serve(txn, key)
        except TooLong:
            self._seen[key] = seen  # it will be asked once more
            raise

    def _serve(self, txn: Txn, key: bytes) -> Reply:
        meta = txn.find(key)
        is_new = self.note(txn, key)
        if self._options.group is not None:
            return self._serve_group(txn, key, meta, is_new)
        if meta is None or not is_new or self._after[key] >= streams.decode_state(meta).last:
            raise WouldBlock((), 0, None)
        after = self._after[key]
        return Keyed([(key, entries(txn, key, meta, after + 1, limit=self._limit))])

    def _serve_group(self, txn: Txn, key: bytes, meta: Meta | None, is_new: bool) -> Reply:
        assert self._options.group is not None
        if meta is None or meta.type != STREAM:
            raise CommandError(errors.STREAM_GONE)
        group = stream_groups.find_in(txn, key, meta, self._options.group)
        if group is None:
            raise CommandError(errors.GROUP_GONE)
        if not is_new or group.last >= streams.decode_state(meta).last:
            raise WouldBlock((), 0, None)
        return Keyed([(key, _deliver(txn, self._options, key, meta, group, self._limit))])

    @property
    def _limit(self) -> int:
        return limit_of(self._options.limit or _SERVED_AT_ONCE)
