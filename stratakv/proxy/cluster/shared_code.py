"""Scripts and functions: what one node is told, all know.

Libraries of functions are kept once, by the owner of the first group, the keeper: others hand over
to it what changes them, and take from it all that there are, when they change and when they come.
Scripts are kept nowhere, as in Redis: who loads one tells those who are there, and the first of
them all tells it to who comes later.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.cluster.links import Link
from stratakv.proxy.cluster.topology import Topology
from stratakv.proxy.wire.replies import OK

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.server import Server


class SharedCode:
    """What a node does so that all know the same."""

    def __init__(self, server: "Server", cluster: Cluster) -> None:
        self._server = server
        self._cluster = cluster
        self._links = cluster.links
        cluster.on_change(self._changed)
        cluster.links.on_up(self._greet)

    @property
    def keeper(self) -> str:
        """The node that keeps the libraries; empty if there is none just now."""
        return self._cluster.topology.groups[0].owner

    @property
    def is_keeper(self) -> bool:
        """Whether that is this one."""
        return self.keeper == self._cluster.myself.id

    def _changed(self, before: Topology, after: Topology) -> None:
        if before.groups[0].owner != self.keeper and self._cluster.serves(0):
            self.begin_keeping()

    def begin_keeping(self) -> None:
        """The first group is ours and open: the libraries are in its rows."""
        self._server.scripting.forget_libraries()
        self._links.tell_all(self._libraries())

    def _greet(self, link: Link) -> None:
        """A node can be reached, which may know nothing yet."""
        if self._cluster.serves(0):
            self._links.tell(link.node, self._libraries())
        others = [id_ for id_ in self._cluster.topology.nodes if id_ != link.node]
        if min(others) == self._cluster.myself.id:
            for code in self._server.scripting.scripts_of_all():
                self._links.tell(link.node, [b"SCRIPT", b"LOAD", code])

    def _libraries(self) -> list[bytes]:
        return [b"STRATA", b"LIBRARIES", *self._server.scripting.codes_of_libraries()]

    def libraries_changed(self, session: "Session") -> None:
        """A command has changed the libraries, if it is applied: all are told."""
        if not session.realm.id:
            session.txn.when_applied(lambda: self._links.tell_all(self._libraries()))

    def hand_over(self, session: "Session") -> bool:
        """Let the keeper do what a command asks for; False if that is this node.

        The client waits for the keeper's reply, a name where a library is loaded, and else OK.
        Raises if it cannot be asked.
        """
        if self.is_keeper:
            self._go_to_rows(session)
            return False
        if session.realm.id or session.unit is not None or self._links.is_guest(session):
            raise CommandError(errors.NOT_THE_KEEPER)
        pipelines = self._server.dispatcher.pipelines
        then = partial(self._answer, session)
        if not self._links.ask(self.keeper, list(session.request), then):
            raise CommandError(errors.NO_KEEPER)
        pipelines.await_answer(session)
        return True

    def _go_to_rows(self, session: "Session") -> None:
        """Libraries are written with the keys of the first group."""
        place = self._cluster.database_of(0)
        if session.txn.db.number == place or session.realm.id:
            return
        if session.unit is not None:
            raise CommandError(errors.NOT_THE_KEEPER)
        session.select(place)

    def _answer(self, session: "Session", reply: Any) -> None:
        """The keeper has answered, or will not; the client may be gone."""
        if reply is None:
            reply = CommandError(errors.NO_KEEPER)
        elif isinstance(reply, Exception):
            reply = CommandError(str(reply).encode("utf-8", "surrogateescape"))
        elif session.request[1].upper() != b"LOAD":
            reply = OK
        session.answer_later(reply)

    def tell_script(self, session: "Session", *words: bytes) -> None:
        """A client has had a script loaded, or all forgotten."""
        if not self._links.is_guest(session) and not session.realm.id:
            self._links.tell_all([b"SCRIPT", *words])
