"""Demands: what a request would do, as the guards have to know before it runs.

The table says it of plain commands. A script or function does what it declares, if it declares
something, and EXEC whatever one of the queued commands does.
"""

from collections.abc import Callable

from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

Demand = Callable[[Session, Command, Request], bool]


def writes(session: Session, entry: Command, request: Request) -> bool:
    """Whether it is a write command, or as good as one."""
    if not entry.is_vicarious:
        return entry.is_write
    if "final" in entry.traits:
        return _any_queued(session, writes)
    declared = session.server.scripting.declared(session, entry.name, request)
    return declared is not None and "no-writes" not in declared


def may_write(session: Session, entry: Command, request: Request) -> bool:
    """Whether it may write: what Redis's replicas would hear of."""
    if not entry.is_vicarious:
        return entry.is_write or "replicates" in entry.traits
    if "final" in entry.traits:
        return _any_queued(session, may_write)
    declared = session.server.scripting.declared(session, entry.name, request)
    return "replicates" in entry.traits if declared is None else "no-writes" not in declared


def meets_keys(session: Session, entry: Command, request: Request) -> bool:
    """Whether it may read or write keys."""
    if "final" in entry.traits:
        return _any_queued(session, meets_keys)
    return "readonly" in entry.flags or may_write(session, entry, request)


def needs_master(session: Session, entry: Command, request: Request) -> bool:
    """Whether a replica that has lost its master may refuse it."""
    if not entry.is_vicarious:
        return "stale" not in entry.flags
    if "final" in entry.traits:
        return _any_queued(session, needs_master)
    declared = session.server.scripting.declared(session, entry.name, request)
    return "stale" not in entry.flags if declared is None else "allow-stale" not in declared


def _any_queued(session: Session, demand: Demand) -> bool:
    transaction = session.transaction
    return transaction is not None and any(demand(session, *one) for one in transaction.queue)
