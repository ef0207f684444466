"""Commands that look inside a running server: SLOWLOG, LATENCY, MEMORY, MONITOR and DEBUG."""

import time
from collections import deque
from itertools import islice

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.numbers import parse_int
from stratakv.encodings.types.keys.sizes import stored_bytes
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args
from stratakv.proxy.clients.session import MONITORING, Session
from stratakv.proxy.observe import info
from stratakv.proxy.observe.stats import SlowCall
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CALLED, Command, CommandGroup, find_entry
from stratakv.proxy.wire.replies import (
    NO_REPLY,
    OK,
    Reply,
    Status,
    Text,
)

_GROUP = CommandGroup("server")
command, container = _GROUP.command, _GROUP.container

_ADMIN = "admin noscript loading stale"

# the slow log

container("SLOWLOG", since="2.2.12")


@command("SLOWLOG HELP", "loading stale", since="6.2.0", tenants="own")
def slowlog_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("SLOWLOG")


@command(
    "SLOWLOG GET [count]",
    "admin loading stale",
    tips="request_policy:all_nodes nondeterministic_output",
    since="2.2.12",
    tenants="own",
)
def slowlog_get(session: Session, *arguments: bytes) -> Reply:
    """Return the latest calls that were slow: 10 of them, or `count`, or all with -1."""
    if len(arguments) > 1:
        raise errors.wrong_subcommand("SLOWLOG", session.request[1])
    count = parse_int(arguments[0]) if arguments else 10
    if count is None or count < -1:
        raise CommandError(errors.BAD_COUNT_FROM_MINUS_ONE)
    calls = _slow_calls(session)
    return [list(call[:-1]) for call in islice(calls, count if count >= 0 else None)]


def _slow_calls(session: Session) -> list[SlowCall]:
    """The slow calls that the client may know of."""
    realm = session.realm.id
    calls = session.server.stats.slow_calls
    return [call for call in calls if not realm or call.realm == realm]


@command(
    "SLOWLOG LEN",
    "admin loading stale",
    tips="request_policy:all_nodes response_policy:agg_sum nondeterministic_output",
    since="2.2.12",
    tenants="own",
)
def slowlog_len(session: Session) -> int:
    """Return the number of calls in the slow log."""
    return len(_slow_calls(session))


@command(
    "SLOWLOG RESET",
    "admin loading stale",
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.2.12",
    tenants="own",
)
def slowlog_reset(session: Session) -> Reply:
    """Empty the slow log."""
    calls = session.server.stats.slow_calls
    for call in _slow_calls(session):
        calls.remove(call)
    return OK


# latency

container("LATENCY", since="2.8.13")


@command("LATENCY HELP", "loading stale", since="2.8.13", tenants="own")
def latency_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("LATENCY")


@command(
    "LATENCY LATEST",
    _ADMIN,
    tips="nondeterministic_output request_policy:all_nodes response_policy:special",
    since="2.8.13",
)
def latency_latest(session: Session) -> Reply:
    """Return the last and the worst spike of each event."""
    monitor = session.server.stats.latency
    return [
        [event.encode(), *history[-1], monitor.worst[event]]
        for event, history in monitor.events.items()
    ]


@command(
    "LATENCY HISTORY event",
    _ADMIN,
    tips="nondeterministic_output request_policy:all_nodes response_policy:special",
    since="2.8.13",
)
def latency_history(session: Session, event: bytes) -> Reply:
    """Return when an event had spikes, and how long they were."""
    return [list(sample) for sample in _history(session, event)]


@command(
    "LATENCY RESET [event [event ...]]",
    _ADMIN,
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.8.13",
)
def latency_reset(session: Session, *events: bytes) -> int:
    """Forget the spikes of some events, or of all."""
    return session.server.stats.latency.reset([event.decode("latin-1") for event in events])


@command(
    "LATENCY GRAPH event",
    _ADMIN,
    tips="nondeterministic_output request_policy:all_nodes response_policy:special",
    since="2.8.13",
)
def latency_graph(session: Session, event: bytes) -> Text:
    """Draw the spikes of an event."""
    history = _history(session, event)
    if not history:
        raise CommandError(b"ERR No samples available for event '%b'" % event)
    now, worst = int(time.time()), max(sample[1] for sample in history)
    bars = "▁▂▃▄▅▆▇█"
    drawn = "".join(bars[sample[1] * 7 // max(worst, 1)] for sample in history)
    head = f"{event.decode('latin-1')}: {len(history)} spikes, the worst {worst} ms"
    ages = f"from {now - history[0][0]} s to {now - history[-1][0]} s ago"
    return Text(f"{head}, {ages}\n{drawn}\n".encode())


@command(
    "LATENCY DOCTOR",
    _ADMIN,
    tips="nondeterministic_output request_policy:all_nodes response_policy:special",
    since="2.8.13",
)
def latency_doctor(session: Session) -> Text:
    """Say in words what the latency monitor has seen."""
    monitor = session.server.stats.latency
    if not monitor.watching:
        advice = "CONFIG SET latency-monitor-threshold <milliseconds>"
        return Text(f"The latency monitor is off. Turn it on with {advice}.\n".encode())
    if not monitor.events:
        return Text(b"No spike so far.\n")
    lines = [
        f"{event}: {len(history)} seconds with a spike, the worst {monitor.worst[event]} ms."
        for event, history in monitor.events.items()
    ]
    return Text("\n".join([*lines, "SLOWLOG GET shows which calls were slow.", ""]).encode())


@command(
    "LATENCY HISTOGRAM [command [command ...]]",
    _ADMIN,
    tips="nondeterministic_output request_policy:all_nodes response_policy:special",
    since="7.0.0",
)
def latency_histogram(session: Session, *names: bytes) -> Reply:
    """Return how many calls of a command took how long, cumulatively, in microseconds."""
    found = [find_entry(name, CALLED) for name in names]
    wanted = [entry for entry in found if entry is not None] if names else CALLED.values()
    entries = [one for entry in wanted for one in (entry, *entry.subcommands.values())]
    return {
        entry.name.encode(): {b"calls": entry.calls, b"histogram_usec": _histogram(entry)}
        for entry in entries
        if entry.calls
    }


def _history(session: Session, event: bytes) -> deque[tuple[int, int]]:
    return session.server.stats.latency.events.get(event.decode("latin-1"), deque())


def _histogram(entry: Command) -> dict[int, int]:
    shown: dict[int, int] = {}
    total = 0
    for power, count in enumerate(entry.buckets):
        if count:
            total += count
            shown[1 << power] = total
    return shown


# memory

container("MEMORY", since="4.0.0")


@command("MEMORY HELP", "loading stale", since="4.0.0", tenants="own")
def memory_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("MEMORY")


@command("MEMORY USAGE key [SAMPLES count]", "readonly", key_flags="RO", since="4.0.0")
def memory_usage(txn: Txn, word: bytes, key: bytes, *options: bytes) -> int | None:
    """Estimate the bytes that a key takes in the store."""
    args = Args(options)
    samples = 5
    while args:
        if args.option() != b"SAMPLES" or not args:
            raise errors.syntax()
        samples = args.integer()
        if samples < 0:
            raise errors.syntax()
    return stored_bytes(txn, key, samples)


@command(
    "MEMORY STATS",
    "",
    tips="nondeterministic_output request_policy:all_shards response_policy:special",
    since="4.0.0",
    tenants="barred",
)
def memory_stats(session: Session) -> Reply:
    """Return where the memory of the process goes."""
    server = session.server
    use, peak, startup = server.memory.look(), server.memory.peak, server.memory.startup
    databases = server.keyspace.opened.values()
    clients, slaves = info.mem_clients(server)
    keys = sum(database.live for database in databases)
    cached = sum(database.cached_bytes for database in databases)
    return {
        b"peak.allocated": peak,
        b"total.allocated": use.own,
        b"startup.allocated": startup,
        b"replication.backlog": 0,
        b"clients.slaves": slaves,
        b"clients.normal": clients - slaves,
        b"aof.buffer": 0,
        b"overhead.total": use.own - min(use.own, cached),
        b"keys.count": keys,
        b"keys.bytes-per-key": max(0, use.own - startup) // keys if keys else 0,
        b"dataset.bytes": cached,
        b"dataset.percentage": info.share_of_dataset(server, use),
        b"peak.percentage": use.own / peak * 100,
        b"fragmentation": use.resident / use.own,
        b"fragmentation.bytes": use.mapped,
    }


@command(
    "MEMORY DOCTOR",
    "",
    tips="nondeterministic_output request_policy:all_shards response_policy:special",
    since="4.0.0",
    tenants="barred",
)
def memory_doctor(session: Session) -> Text:
    """Say in words whether the memory of the process is as it should be."""
    use, limit = session.server.memory.look(), session.server.keyspace.cache.limit_bytes
    return Text(
        f"The process has {info.human(use.own)} of its own and {info.human(use.mapped)} of mapped"
        f" files; its meta cache may grow to {info.human(limit)}.\n".encode()
    )


@command(
    "MEMORY MALLOC-STATS",
    "",
    tips="nondeterministic_output request_policy:all_shards response_policy:special",
    since="4.0.0",
    tenants="barred",
)
def memory_malloc_stats(session: Session) -> Text:
    """Return what LevelDB says of itself; Python's allocator has no statistics."""
    return Text((session.server.store.report() or "none\n").encode())


@command(
    "MEMORY PURGE",
    "",
    tips="request_policy:all_shards response_policy:all_succeeded",
    since="4.0.0",
    tenants="barred",
)
def memory_purge(session: Session) -> Reply:
    """Answer OK; memory goes back by itself."""
    return OK


# watching all commands


@command("MONITOR", _ADMIN, tenants="own")
def monitor(session: Session) -> Reply:
    """Show every command that the server runs from now on."""
    if session.unit is not None:
        raise CommandError(errors.MONITOR_IN_UNIT)
    if session.guards & MONITORING:
        return NO_REPLY
    session.server.dispatcher.guards.watch(session)
    session.guards |= MONITORING
    return OK
