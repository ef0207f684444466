"""XINFO: what streams, groups and consumers are like."""

from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import STREAM, Meta
from stratakv.encodings.types.streams import stream_groups, streams
from stratakv.encodings.types.streams.stream_groups import UNKNOWN, Consumer, Group
from stratakv.encodings.types.streams.streams import State, format_id
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args
from stratakv.proxy.arguments.stream_options import limit_of
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import Reply, Status

_GROUP = CommandGroup("stream")
command, container = _GROUP.command, _GROUP.container

_FULL_COUNT: Final = 10

container("XINFO", since="5.0.0")


@command("XINFO STREAM key [FULL [COUNT count]]", "readonly", since="5.0.0")
def xinfo_stream(txn: Txn, word: bytes, key: bytes, *arguments: bytes) -> Reply:
    """Tell about a stream; FULL shows entries, groups and what is pending."""
    meta = _stream(txn, key)
    args = Args(arguments)
    if not args:
        return _stream_summary(txn, key, meta)
    if len(args) not in (1, 3) or not args.accept(b"FULL"):
        raise errors.wrong_subcommand("XINFO", word)
    count = _FULL_COUNT
    if args:
        if not args.accept(b"COUNT"):
            raise errors.wrong_subcommand("XINFO", word)
        count = args.integer()
    return _whole_stream(txn, key, meta, limit_of(count if count >= 0 else _FULL_COUNT))


def _stream(txn: Txn, key: bytes) -> Meta:
    meta = txn.expect(key, STREAM)
    if meta is None:
        raise CommandError(errors.NO_SUCH_KEY)
    return meta


def _facts(txn: Txn, state: State) -> dict[bytes, object]:
    """What both forms of XINFO STREAM begin with. The tree is the one that Redis would have."""
    size = txn.keyspace.limits.stream_node_entries
    nodes = -(-(state.gone + state.length) // size) - state.gone // size
    return {
        b"length": state.length,
        b"radix-tree-keys": nodes,
        b"radix-tree-nodes": nodes + 1,
        b"last-generated-id": format_id(state.last),
        b"max-deleted-entry-id": format_id(state.max_deleted),
        b"entries-added": state.added,
        b"recorded-first-entry-id": format_id(state.first),
    }


def _stream_summary(txn: Txn, key: bytes, meta: Meta) -> dict[bytes, object]:
    state = streams.decode_state(meta)
    first = last = None
    if state.length:
        first = _entry(txn, key, meta, state.first)
        last = _entry(txn, key, meta, streams.top(txn, meta))
    return {
        **_facts(txn, state),
        b"groups": state.groups,
        b"first-entry": first,
        b"last-entry": last,
    }


def _entry(txn: Txn, key: bytes, meta: Meta, number: int) -> list[object]:
    return [format_id(number), streams.find(txn, key, meta, number)]


def _whole_stream(txn: Txn, key: bytes, meta: Meta, limit: int) -> dict[bytes, object]:
    state = streams.decode_state(meta)
    groups = list(stream_groups.all_of(txn, key, meta))
    return {
        **_facts(txn, state),
        b"entries": list(streams.shown(streams.between(txn, key, meta, limit=limit))),
        b"groups": [_whole_group(state, group, limit) for group in groups],
    }


def _whole_group(state: State, group: Group, limit: int) -> dict[bytes, object]:
    consumers = list(group.all_consumers())
    return {
        b"name": group.name,
        b"last-delivered-id": format_id(group.last),
        b"entries-read": None if group.read == UNKNOWN else group.read,
        b"lag": stream_groups.lag(state, group),
        b"pel-count": group.pending,
        b"pending": [
            [format_id(one.id), one.consumer, one.delivered_ms, one.deliveries]
            for one in group.all_pending(limit=limit)
        ],
        b"consumers": [_whole_consumer(group, consumer, limit) for consumer in consumers],
    }


def _whole_consumer(group: Group, consumer: Consumer, limit: int) -> dict[bytes, object]:
    return {
        b"name": consumer.name,
        b"seen-time": consumer.seen_ms,
        b"pel-count": consumer.pending,
        b"pending": [
            [format_id(one.id), one.delivered_ms, one.deliveries]
            for one in group.pending_of(consumer, limit=limit)
        ],
    }


@command("XINFO GROUPS key", "readonly", since="5.0.0")
def xinfo_groups(txn: Txn, _word: bytes, key: bytes) -> list[dict[bytes, object]]:
    """Tell about the groups of a stream."""
    meta = _stream(txn, key)
    state = streams.decode_state(meta)
    return [
        {
            b"name": group.name,
            b"consumers": group.consumers,
            b"pending": group.pending,
            b"last-delivered-id": format_id(group.last),
            b"entries-read": None if group.read == UNKNOWN else group.read,
            b"lag": stream_groups.lag(state, group),
        }
        for group in stream_groups.all_of(txn, key, meta)
    ]


@command("XINFO CONSUMERS key group", "readonly", tips="nondeterministic_output", since="5.0.0")
def xinfo_consumers(txn: Txn, _word: bytes, key: bytes, name: bytes) -> list[dict[bytes, object]]:
    """Tell about the consumers of a group."""
    group = stream_groups.find_in(txn, key, _stream(txn, key), name)
    if group is None:
        raise errors.no_group_of_key(key, name)
    now_ms = txn.now_ms
    return [
        {
            b"name": consumer.name,
            b"pending": consumer.pending,
            b"idle": max(0, now_ms - consumer.seen_ms),
        }
        for consumer in group.all_consumers()
    ]


@command("XINFO HELP", "loading stale", since="5.0.0", tenants="own")
def xinfo_help(session: Session) -> list[Status]:
    """List the subcommands."""
    return help_of("XINFO")
