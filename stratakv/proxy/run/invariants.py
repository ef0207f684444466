"""Invariants of the running server, looked at after each turn if `debug-invariants` is on.

Each owner states its own and checks them (`check_invariants`); here are those that need several.
One that does not hold is logged with its number, and the server ends at once: whatever it would do
next rests on it.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace import invariants
from stratakv.proxy.clients.session import FROM_MASTER

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

BROKEN_EXIT: Final = 70
"""The exit code of a server that has broken an invariant: EX_SOFTWARE."""
READING_EVERY: Final = 16
"""Turns between two looks at what has to be read from the store."""


class Invariants:
    """Has the invariants checked at the end of each turn."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._turns = 0

    def watch(self) -> None:
        """Look from the next turn on. More can be added to `Turns.checks`, with `guarded`."""
        server, dispatcher = self._server, self._server.dispatcher
        server.turns.checks += map(
            guarded,
            (
                server.turns.check_invariants,
                server.slices.check_invariants,
                dispatcher.lock_waits.locks.check_invariants,
                dispatcher.blocked.check_invariants,
                self._check_keyspace,
                self._check_owners,
                self._check_waiting,
                server.logins.check_invariants,
                self._check_realms,
            ),
        )

    def _check_keyspace(self) -> None:
        server = self._server
        known = {id(session.txns): session.txns for session in server.sessions.values()}
        for txns in (server.realms.first.txns, *known.values()):
            invariants.check_txns(txns)
        self._turns += 1
        if not self._turns % READING_EVERY:
            server.store.check_invariants()
            invariants.check_keyspace(
                server.keyspace,
                is_idle=not server.slices.running,
                is_draining=server.housekeeper.reclaimer.is_draining,
            )

    def _check_realms(self) -> None:
        server = self._server
        server.realms.check_invariants(list(server.sessions.values()), obeys=FROM_MASTER)

    def _check_owners(self) -> None:
        server = self._server
        owned = server.dispatcher.long_commands.locks()
        if server.reencoding is not None and server.reencoding.lock is not None:
            owned.add(server.reencoding.lock)
        owned |= server.replication.locks()
        held = server.dispatcher.lock_waits.locks.held
        assert owned == set(held), "long commands 5: a lock is held by nobody who runs"

    def _check_waiting(self) -> None:
        dispatcher = self._server.dispatcher
        known = Counter(
            session.id
            for owner in (
                dispatcher.pipelines.waiting(),
                dispatcher.blocked.waiting(),
                dispatcher.guards.held,
                dispatcher.lock_waits.waiting(),
                dispatcher.long_commands.waiting(),
                dispatcher.cluster.held if dispatcher.cluster is not None else (),
            )
            for session in owner
        )
        for session in self._server.sessions.values():
            if not session.closing:
                assert known[session.id] == session.waiting, (
                    f"pipelines 4: client {session.id} is known to {known[session.id]} who would"
                    f" resume it, and {'waits' if session.waiting else 'does not wait'}"
                )


def guarded(check: Callable[[], None]) -> Callable[[], None]:
    """A check that ends the server if it fails."""

    def look() -> None:
        try:
            check()
        except AssertionError as broken:
            log.critical("an invariant is broken, %s", broken, exc_info=broken)
            os._exit(BROKEN_EXIT)

    return look
