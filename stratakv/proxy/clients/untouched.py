"""CLIENT NO-TOUCH: what a client reads leaves alone when keys were last used.

The uses of the keys that a command names are noted before it runs, and put back when it has its
reply, or when it is set aside, to wait or to go on in slices. Writes are uses all the same.
"""

from collections.abc import Iterator

from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request


def command_begins(session: Session, entry: Command, request: Request) -> None:
    """Note when the keys were last used that the command may read."""
    database = session.txn.db
    session.untouched = [
        (database, key, database.last_use(key)) for key in _read_keys(session, entry, request)
    ]


def _read_keys(session: Session, entry: Command, request: Request) -> Iterator[bytes]:
    if "final" in entry.traits and session.transaction is not None:
        for queued, words in session.transaction.queue:
            if "touches" not in queued.traits:
                yield from queued.find_keys(words)
    elif "touches" not in entry.traits:
        yield from entry.find_keys(request)
