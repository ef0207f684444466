"""Transaction commands: one Txn and one commit for all that is between MULTI and EXEC."""

from stratakv.encodings.keyspace.txn import ROW_BUDGET
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import QUEUEING, RESTRICTED, Session
from stratakv.proxy.clients.transactions import Transaction
from stratakv.proxy.run.rights import refusal_in_exec
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, OK, Reply
from stratakv.storage.missing import TooLong

command = CommandGroup("transactions").command


@command(
    "MULTI",
    "noscript loading stale fast allow_busy",
    traits="immediate",
    since="1.2.0",
    tenants="own",
)
def multi(session: Session) -> Reply:
    """Start a transaction."""
    if session.transaction is not None:
        raise CommandError(b"ERR MULTI calls can not be nested")
    session.transaction = Transaction()
    session.guards |= QUEUEING
    return OK


@command(
    "EXEC",
    "noscript loading stale skip_slowlog",
    traits="immediate unit final",
    since="1.2.0",
    tenants="own",
)
def exec_(session: Session) -> Reply:
    """Run the queued commands as one unit."""
    transaction = session.transaction
    if transaction is None:
        raise CommandError(b"ERR EXEC without MULTI")
    if transaction.failed or session.watches.broken:
        session.end_transaction()
        transaction.check()
        return NULL_ARRAY
    session.txn.expect_work(len(transaction.queue))
    run = session.server.dispatcher.running.run_in_unit
    began_in = session.txn
    may_be_refused = bool(session.guards & RESTRICTED)
    session.begin_unit()
    try:
        results = [
            (may_be_refused and refusal_in_exec(session, entry, request))
            or run(session, entry, request)
            for entry, request in transaction.queue
        ]
    except TooLong:
        session.txn = began_in  # it begins anew, and SELECT may have led elsewhere
        raise
    except Exception:
        session.end_transaction()
        raise
    finally:
        session.end_unit()
    session.end_transaction()
    if len(transaction.queue) > ROW_BUDGET:
        session.server.keyspace.leftovers.add(transaction.queue)
    return results


@command(
    "DISCARD",
    "noscript loading stale fast allow_busy",
    traits="immediate",
    since="2.0.0",
    tenants="own",
)
def discard(session: Session) -> Reply:
    """Drop the queued commands."""
    if session.transaction is None:
        raise CommandError(b"ERR DISCARD without MULTI")
    session.end_transaction()
    return OK


@command(
    "WATCH key [key ...]",
    "noscript loading stale fast allow_busy",
    traits="immediate",
    key_flags="RO",
    since="2.2.0",
    tenants="own",
)
def watch(session: Session, *keys: bytes) -> Reply:
    """Let EXEC fail if one of the keys changes before it."""
    if session.transaction is not None:
        raise CommandError(b"ERR WATCH inside MULTI is not allowed")
    for key in keys:
        session.watches.add(session.txn, key)
    return OK


@command("UNWATCH", "noscript loading stale fast allow_busy", since="2.2.0", tenants="own")
def unwatch(session: Session) -> Reply:
    """Forget the watched keys."""
    session.watches.clear()
    return OK
