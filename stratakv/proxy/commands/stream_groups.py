"""Consumer groups of streams: making them, acknowledging, claiming."""

from collections.abc import Iterable, Sequence

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED, UNPUBLISHED, Txn
from stratakv.encodings.layout.metas import STREAM, Meta
from stratakv.encodings.types.streams import stream_claims, stream_groups, streams
from stratakv.encodings.types.streams.stream_claims import Claim
from stratakv.encodings.types.streams.stream_groups import UNKNOWN, Group, Pending
from stratakv.encodings.types.streams.streams import format_id
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, integer, ranged
from stratakv.proxy.arguments.stream_options import (
    COUNT_LIMIT,
    LAST,
    find_id,
    interval_end,
    interval_start,
    loose_id,
    strict_id,
)
from stratakv.proxy.clients.session import Session
from stratakv.proxy.commands import effects
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, OK, Reply, Status

_GROUP = CommandGroup("stream")
command, container = _GROUP.command, _GROUP.container

_ATTEMPTS = 10
"""Pending entries that XAUTOCLAIM looks at for each one that it may claim."""

_TRANSIENT_BYTES = 1 << 40
"""Redis refuses a COUNT of XAUTOCLAIM for which it cannot get memory: 16 bytes for each."""

container("XGROUP", since="5.0.0")


@command(
    "XGROUP CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
    "write denyoom",
    key_flags="RW insert",
    since="5.0.0",
)
def xgroup_create(
    txn: Txn, word: bytes, key: bytes, group: bytes, text: bytes, *arguments: bytes
) -> Status:
    """Make a consumer group."""
    args = Args(arguments)
    make_stream = False
    read = UNKNOWN
    while args:
        if args.accept(b"MKSTREAM"):
            make_stream = True
        else:
            read = _entries_read(word, args)
    meta = txn.expect(key, STREAM)
    if meta is None and not make_stream:
        raise CommandError(errors.GROUP_WITHOUT_KEY)
    if len(arguments) > 3:
        raise errors.wrong_subcommand("XGROUP", word)
    if text == LAST:
        last = 0 if meta is None else streams.decode_state(meta).last
    else:
        last = strict_id(text)
    if meta is None:
        meta = streams.create(txn, key)
        txn.event(UNPUBLISHED, "create", key)
    if not stream_groups.create(txn, key, meta, group, last, read):
        raise CommandError(errors.GROUP_EXISTS)
    txn.event("t", "xgroup-create", key)
    return OK


def _entries_read(word: bytes, args: Args) -> int:
    if len(args) < 2 or not args.accept(b"ENTRIESREAD"):
        raise errors.wrong_subcommand("XGROUP", word)
    read = args.integer()
    if read < 0 and read != UNKNOWN:
        raise CommandError(errors.ENTRIES_READ)
    return read


@command(
    "XGROUP SETID key group <id | $> [ENTRIESREAD entries-read]",
    "write",
    key_flags="RW update",
    since="5.0.0",
)
def xgroup_setid(
    txn: Txn, word: bytes, key: bytes, name: bytes, text: bytes, *arguments: bytes
) -> Status:
    """Set the last id that a group has delivered."""
    args = Args(arguments)
    read = UNKNOWN
    while args:
        read = _entries_read(word, args)
    meta, group = _existing(txn, key, name)
    if len(arguments) > 2:
        raise errors.wrong_subcommand("XGROUP", word)
    group.last = streams.decode_state(meta).last if text == LAST else loose_id(text)
    group.read = read
    group.save()
    txn.event("t", "xgroup-setid", key)
    return OK


@command("XGROUP DESTROY key group", "write", key_flags="RW delete", since="5.0.0")
def xgroup_destroy(txn: Txn, _word: bytes, key: bytes, name: bytes) -> int:
    """Delete a consumer group with all that is pending."""
    meta = _stream(txn, key)
    group = stream_groups.find_in(txn, key, meta, name)
    if group is None:
        return 0
    stream_groups.destroy(txn, key, meta, group)
    txn.event("t", "xgroup-destroy", key)
    return 1


@command(
    "XGROUP CREATECONSUMER key group consumer",
    "write denyoom",
    key_flags="RW insert",
    since="6.2.0",
)
def xgroup_createconsumer(txn: Txn, _word: bytes, key: bytes, name: bytes, consumer: bytes) -> int:
    """Make a consumer of a group."""
    _, group = _existing(txn, key, name)
    if not group.add_consumer(consumer):
        return 0
    group.save()
    txn.event("t", "xgroup-createconsumer", key)
    return 1


@command("XGROUP DELCONSUMER key group consumer", "write", key_flags="RW delete", since="5.0.0")
def xgroup_delconsumer(txn: Txn, _word: bytes, key: bytes, name: bytes, consumer: bytes) -> int:
    """Delete a consumer of a group with all that is pending with it."""
    _, group = _existing(txn, key, name)
    if group.find_consumer(consumer) is None:
        return 0
    count = group.remove_consumer(consumer)
    group.save()
    txn.event("t", "xgroup-delconsumer", key)
    return count


@command("XGROUP HELP", "loading stale", since="5.0.0", tenants="own")
def xgroup_help(session: Session) -> list[Status]:
    """List the subcommands."""
    return help_of("XGROUP")


def _stream(txn: Txn, key: bytes) -> Meta:
    meta = txn.expect(key, STREAM)
    if meta is None:
        raise CommandError(errors.GROUP_WITHOUT_KEY)
    return meta


def _existing(txn: Txn, key: bytes, name: bytes) -> tuple[Meta, Group]:
    meta = _stream(txn, key)
    group = stream_groups.find_in(txn, key, meta, name)
    if group is None:
        raise errors.no_group_of_key(key, name)
    return meta, group


# pending entries


@command("XACK key group id [id ...]", "write fast", key_flags="RW update", since="5.0.0")
def xack(txn: Txn, key: bytes, name: bytes, *ids: bytes) -> int:
    """Acknowledge entries: they are no longer pending."""
    place = stream_groups.find(txn, key, name)
    if place is None:
        return 0
    return stream_groups.acknowledge(place[1], [strict_id(text) for text in ids])


@command(
    "XPENDING key group [[IDLE min-idle-time] start end count [consumer]]",
    "readonly",
    tips="nondeterministic_output",
    since="5.0.0",
)
def xpending(txn: Txn, key: bytes, name: bytes, *arguments: bytes) -> Reply:
    """Tell what is pending in a group."""
    if not arguments:
        return _pending_summary(_group(txn, key, name)[1])
    if not 3 <= len(arguments) <= 6:
        raise errors.syntax()
    min_idle_ms = 0
    if arguments[0].upper() == b"IDLE":
        min_idle_ms = integer(arguments[1])
        arguments = arguments[2:]
        if len(arguments) < 3:
            raise errors.syntax()
    count = max(0, integer(arguments[2]))
    first, last = interval_start(arguments[0]), interval_end(arguments[1])
    group = _group(txn, key, name)[1]
    if len(arguments) == 3:
        found = group.all_pending(first, last, limit=UNLIMITED if min_idle_ms else count)
    else:
        consumer = group.find_consumer(arguments[3])
        if consumer is None:
            return []
        found = group.pending_of(consumer, first, last, limit=UNLIMITED if min_idle_ms else count)
    return _shown_pending(txn.now_ms, found, min_idle_ms, count) if count else []


def _pending_summary(group: Group) -> list[object]:
    if not group.pending:
        return [0, None, None, NULL_ARRAY]
    consumers = [
        [consumer.name, b"%d" % consumer.pending]
        for consumer in group.all_consumers()
        if consumer.pending
    ]
    ends = [format_id(group.first), format_id(group.last_pending())]
    return [group.pending, *ends, consumers]


def _shown_pending(
    now_ms: int, found: Iterable[Pending], min_idle_ms: int, count: int
) -> list[list[object]]:
    shown: list[list[object]] = []
    for one in found:
        idle_ms = now_ms - one.delivered_ms
        if min_idle_ms and idle_ms < min_idle_ms:
            continue
        shown.append([format_id(one.id), one.consumer, max(0, idle_ms), one.deliveries])
        if len(shown) == count:
            break
    return shown


def _group(txn: Txn, key: bytes, name: bytes) -> tuple[Meta, Group]:
    place = stream_groups.find(txn, key, name)
    if place is None:
        raise errors.no_group(key, name)
    return place


# claims


@command(
    "XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] "
    "[RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
    "write fast",
    tips="nondeterministic_output",
    key_flags="RW update",
    since="5.0.0",
    effect=effects.of_xclaim,
)
def xclaim(
    txn: Txn, key: bytes, name: bytes, consumer: bytes, min_idle: bytes, *arguments: bytes
) -> Reply:
    """Make another consumer responsible for pending entries."""
    meta, group = _group(txn, key, name)
    min_idle_ms = max(0, integer(min_idle, errors.XCLAIM_MIN_IDLE))
    ids, options = _leading_ids(arguments)
    how, last = _claim_options(Args(options), consumer, min_idle_ms, txn.now_ms)
    group.last = max(group.last, last)
    claimed = stream_claims.claim(group, meta, ids, how)
    group.save()
    return claimed


def _leading_ids(arguments: Sequence[bytes]) -> tuple[list[int], Sequence[bytes]]:
    """The arguments that are ids, and what follows them."""
    ids: list[int] = []
    for text in arguments:
        number = find_id(text)
        if number is None:
            break
        ids.append(number)
    return ids, arguments[len(ids) :]


def _claim_options(args: Args, consumer: bytes, min_idle_ms: int, now_ms: int) -> tuple[Claim, int]:
    """The options of XCLAIM, and the last id that it sets."""
    delivered_ms, retries, last = -1, -1, 0
    force = only_ids = False
    while args:
        option = args.take()
        word = option.upper()
        if word == b"FORCE":
            force = True
        elif word == b"JUSTID":
            only_ids = True
        elif word == b"IDLE" and args:
            delivered_ms = now_ms - args.integer(errors.XCLAIM_IDLE)
        elif word == b"TIME" and args:
            delivered_ms = args.integer(errors.XCLAIM_TIME)
        elif word == b"RETRYCOUNT" and args:
            retries = args.integer(errors.XCLAIM_RETRYCOUNT)
        elif word == b"LASTID" and args:
            last = strict_id(args.take())
        else:
            raise errors.unknown_claim_option(option)
    if not 0 <= delivered_ms <= now_ms:
        delivered_ms = now_ms
    retries_or_none = retries if retries >= 0 else None
    return Claim(consumer, min_idle_ms, delivered_ms, retries_or_none, force, only_ids), last


@command(
    "XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID]",
    "write fast",
    tips="nondeterministic_output",
    key_flags="RW delete",
    since="6.2.0",
    effect=effects.of_xautoclaim,
)
def xautoclaim(
    txn: Txn,
    key: bytes,
    name: bytes,
    consumer: bytes,
    min_idle: bytes,
    start: bytes,
    *arguments: bytes,
) -> Reply:
    """Make another consumer responsible for pending entries that have been idle."""
    min_idle_ms = max(0, integer(min_idle, errors.XAUTOCLAIM_MIN_IDLE))
    first = interval_start(start)
    args = Args(arguments)
    count, only_ids = 100, False
    while args:
        word = args.option()
        if word == b"COUNT" and args:
            count = ranged(args.take(), 1, COUNT_LIMIT, errors.XAUTOCLAIM_COUNT)
        elif word == b"JUSTID":
            only_ids = True
        else:
            raise errors.syntax()
    meta, group = _group(txn, key, name)
    if count * 16 > _TRANSIENT_BYTES:
        raise CommandError(errors.XAUTOCLAIM_MEMORY)
    how = Claim(consumer, min_idle_ms, txn.now_ms, only_ids=only_ids)
    following, claimed, gone = stream_claims.claim_idle(
        group, meta, first, count, count * _ATTEMPTS, how
    )
    group.save()
    return [format_id(following), claimed, gone]
