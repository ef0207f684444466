"""The server's place among others: a master, perhaps with replicas, or a replica itself."""

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from stratakv import errors
from stratakv.encodings.keyspace.locks import Lock
from stratakv.encodings.keyspace.own_times import OwnTimes
from stratakv.encodings.layout.positions import Position
from stratakv.errors import CommandError
from stratakv.options import Effects
from stratakv.proxy.clients.session import Session
from stratakv.proxy.replication.failover import Failover
from stratakv.proxy.replication.feed import Feed
from stratakv.proxy.replication.full_sync import FullSync
from stratakv.proxy.replication.master_link import MasterLink
from stratakv.proxy.replication.replicas import ONLINE, Replica, Replicas
from stratakv.proxy.replication.waits import Waits
from stratakv.proxy.run.guards import FOLLOWING, LONELY

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

ROUND_SECONDS: Final = 1.0


class Replication:
    """Who this server follows, and who follows it."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._options = server.options
        self._guards = server.dispatcher.guards
        self.feed = Feed(server.keyspace, server.options.repl_backlog_size)
        self.replicas = Replicas(self.feed, server.options)
        self.waits = Waits(server, self.feed, self.replicas)
        self.failover = Failover(server, self)
        self.link: MasterLink | None = None
        self.full_syncs = self.partial_syncs = self.refused_syncs = 0
        self.loaded_keys = 0
        """How many the last full sync from a master has brought, expired ones too."""
        self._last_link: MasterLink | None = None
        """The one before, which may not have come to its end."""
        self._knows_position = False
        """Whether our data stand in a history that a master may know."""
        self._ticked_at = 0.0
        self.replicas.on_change = self._replicas_changed
        self.feed.on_spoilt = partial(self.replicas.cut_all, "a part of a transaction is missing")

    @property
    def effects(self) -> Effects:
        """What setting its options does."""
        return {
            "repl-backlog-size": self.feed.resize,
            "replica-read-only": lambda value: self._look_at_guards(),
            "replica-serve-stale-data": lambda value: self._look_at_guards(),
            "min-replicas-to-write": lambda value: self._look_at_guards(),
            "min-replicas-max-lag": lambda value: self._look_at_guards(),
        }

    def reset_stats(self) -> None:
        """CONFIG RESETSTAT: count anew."""
        self.full_syncs = self.partial_syncs = self.refused_syncs = 0

    def start(self) -> None:
        """Take the place that the options and the store tell of. Requires: nobody is served yet."""
        if self._options.replicaof:
            self.follow(self._options.replicaof)
        elif self.feed.was_open:
            self.feed.open()
            self.feed.lead()
        self._look_at_guards()

    def stop(self) -> None:
        """The server ends."""
        if self.link is not None:
            self.link.stop()

    @property
    def is_master(self) -> bool:
        """Whether it follows nobody."""
        return self.link is None

    def locks(self) -> set[Lock]:
        """What is locked while a full sync is put in its place."""
        dump = None if self.link is None else self.link.dump
        return set() if dump is None or dump.lock is None else {dump.lock}

    # changing places

    def follow(self, target: str, *, takes_over: bool = False) -> None:
        """Be a replica of the master at "host port", or at an address.

        `takes_over`: it is a replica of ours that becomes the master by this.
        """
        was_known = self.feed.is_open or self.feed.was_open
        if not self.feed.is_open:
            if not was_known:
                self.feed.renew()
            self.feed.open()
        self._knows_position = was_known and not self._leaves_history()
        if self.link is not None:
            self.link.stop()
            self._last_link = self.link
        elif self.feed.is_open:
            self.feed.follow(lambda effects: None)
        if not takes_over:
            self.failover.abort("this server follows another master")
        self._server.dispatcher.blocked.turn_away(CommandError(errors.ROLE_CHANGED))
        self._options.replicaof = target
        self.link = MasterLink(self._server, self, target, takes_over=takes_over)
        self.link.start(self._last_link)
        self._server.housekeeper.is_follower = True
        self._server.oom_score.follow_role()
        self._look_at_guards()
        log.warning("following the master %s", self.link.address)

    def _leaves_history(self) -> bool:
        """Whether something will be here that the stream of this server does not tell: what a long
        command of a client, which began before, will have written."""
        if self.link is not None or not self._guards.are_locked:
            return False
        self.feed.renew()
        self.replicas.cut_all("a long command goes on, of which nobody is told")
        return True

    def lead(self) -> None:
        """Be a master: what was followed goes on here under another id."""
        link = self.link
        if link is None:
            return
        is_busy = link.is_busy
        link.stop()
        self._last_link, self.link = link, None
        self._options.replicaof = ""
        if is_busy:
            self.feed.renew()  # what runs of the master is in no history
        else:
            self.feed.shift()
        self.feed.lead()
        self.replicas.cut_all("this server is a master now, under another id")
        self.replicas.last_seen = time.monotonic()
        self._server.housekeeper.is_follower = False
        self._server.oom_score.follow_role()
        self._look_at_guards()
        log.warning("this server is a master now, from offset %d on", self.feed.position.offset)

    def known_position(self) -> Position | None:
        """Where our data stand in a history, if they are in one."""
        return self.feed.position if self._knows_position else None

    def link_changed(self) -> None:
        """The link to the master went up or down."""
        link = self.link
        if link is not None and link.is_up:
            self._knows_position = True
            self.failover.ended()
        elif link is not None and link.takes_over and link.has_failed:
            self.failover.abort("no link to the replica")
        self._look_at_guards()

    def abandon(self) -> None:
        """A commit was refused, and what was decided since is forgotten."""
        self._stand_as_stored(self.feed.abandon)
        if self.link is not None:
            self.link.abandon()

    def mend(self) -> None:
        """The store was opened again, and a batch that it had refused may be there after all."""
        self._server.turns.begin_background()
        self._stand_as_stored(self.feed.mend)

    def _stand_as_stored(self, read_again: Callable[[], None]) -> None:
        before = self.feed.sent, self.feed.position.id
        read_again()
        if (self.feed.sent, self.feed.position.id) != before:
            self.replicas.cut_all("what it was sent is not what the store has")

    # being followed

    def serve(self, session: Session, id_: bytes, offset: int, *, greets: bool) -> None:
        """A client wants the stream: from an offset of a history on, or after everything."""
        replica = session.replica or Replica(session)
        tenants = self._server.keyspace.tenants
        if not (replica.holds_tenants or replica.wants_dump_only):
            if len(tenants):
                raise CommandError(errors.REPLICA_WITHOUT_NAMESPACES)
            id_ = b"?" if tenants.have_been else id_  # the backlog may tell of some
        session.replica = replica
        if not self.feed.is_open:
            self.feed.renew()
            self.feed.open()
            self.feed.lead()
        elif self.is_master:
            self.feed.own()
        session.connection.flush()
        if greets and self._go_on(replica, id_.lower(), offset):
            return
        if greets and id_ != b"?":
            self.refused_syncs += 1
        self.full_syncs += 1
        log.warning("replica %s is sent everything", replica.name)
        if self.is_master:
            self.feed.select_again()  # as Redis does: readers of the stream rely on it
        self.replicas.admit(replica)
        sync = FullSync(self._server, replica, greets=greets)
        self._server.turns.begin_background()
        self._server.turns.flush_now(lambda: self._server.slices.start(sync.run))

    def _go_on(self, replica: Replica, id_: bytes, offset: int) -> bool:
        """Send what follows an offset, if all of it is here."""
        position, backlog = self.feed.position, self.feed.backlog
        assert backlog is not None
        is_known = id_ == position.id or (
            id_ == position.second_id and offset <= position.second_offset
        )
        if not is_known or not backlog.has(offset - 1):
            return False
        self.partial_syncs += 1
        log.warning("replica %s goes on from offset %d", replica.name, offset - 1)
        self.replicas.admit(replica)
        connection = replica.session.connection
        connection.send([b"+CONTINUE %b\r\n" % position.id])
        for chunk in backlog.since(offset - 1):
            connection.send([chunk])
        replica.begin(backlog.end)
        replica.acknowledged = offset - 1
        replica.state = ONLINE
        return True

    def acknowledged(self, replica: Replica, offset: int) -> None:
        """A replica says how far it is; the first time, that it is ready for the stream."""
        if replica.state != ONLINE:
            replica.go_online()
            log.warning("replica %s is ready for the stream", replica.name)
        self.replicas.acknowledge(replica, offset)

    def forget(self, session: Session) -> None:
        """A client is gone."""
        if session.replica is not None:
            self.replicas.forget(session)

    # what happens from time to time

    def tick(self) -> None:
        """Called ten times a second."""
        if self.link is not None:
            self.link.tick()
        now = time.monotonic()
        if now < self._ticked_at + ROUND_SECONDS:
            return
        self._ticked_at = now
        self.failover.look()
        self.replicas.check_silent()
        if self.is_master and self.feed.is_open and not self._guards.is_closed:
            self._server.turns.begin_background()
            self.replicas.ping()
            self._end_stream_if_unused(now)
        self._look_at_guards()

    def _end_stream_if_unused(self, now: float) -> None:
        ttl = self._options.repl_backlog_ttl
        if ttl and not len(self.replicas) and now > self.replicas.last_seen + ttl:
            log.warning("no replica for %d seconds: the backlog is freed", ttl)
            self.feed.close()

    def _replicas_changed(self) -> None:
        self.waits.look()
        self.failover.look()
        self._server.ending.look()
        self._look_at_guards()

    def _look_at_guards(self) -> None:
        """Bring the guards up to the place of the server."""
        guards, options, link = self._guards, self._options, self.link
        self._look_at_own_times(link is not None and not options.replica_read_only)
        guards.read_only_replica = options.replica_read_only
        guards.is_stale = (
            link is not None and not link.is_up and not options.replica_serve_stale_data
        )
        wanted = options.min_replicas_to_write
        is_lonely = bool(
            wanted and options.min_replicas_max_lag and link is None and self.replicas.good < wanted
        )
        bits = guards.bits & ~(FOLLOWING | LONELY)
        guards.bits = bits | (FOLLOWING if link is not None else 0) | (LONELY if is_lonely else 0)

    def _look_at_own_times(self, are_kept: bool) -> None:
        """A replica that its clients write to has to remember what they let expire."""
        keyspace = self._server.keyspace
        if keyspace.own_times is None and are_kept:
            keyspace.own_times = OwnTimes()
        elif self.link is None:
            keyspace.own_times = None

    # telling

    def role(self) -> list[Any]:
        """The reply of ROLE."""
        link = self.link
        if link is None:
            shown = [
                [one.address.encode(), b"%d" % one.port, b"%d" % one.acknowledged]
                for one in self.replicas.online()
            ]
            return [b"master", self.feed.position.offset if self.feed.is_open else 0, shown]
        address = link.address
        offset = self.feed.sent if link.is_up else -1
        return [b"slave", address.host.encode(), address.port, link.state.encode(), offset]
