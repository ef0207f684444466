"""The Redis tier of a running server: connections, generations, and changes while running."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from stratakv import errors
from stratakv.encodings.keyspace.zset_marks import (
    EMPTIED,
    FOREIGN,
    PENDING,
    WRITTEN,
    judge,
    names_in,
    new_token,
)
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.globs import compile_glob
from stratakv.encodings.layout.policies import Policy
from stratakv.errors import CommandError
from stratakv.options import BadOption, Effects, PolicyRule
from stratakv.storage.cache.address import parse_address, without_password
from stratakv.storage.cache.cluster import Cluster
from stratakv.storage.cache.contract import BYPASS, Cache, NoCache
from stratakv.storage.cache.link import Link

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

VERIFY_SECONDS: Final = 2.0
WATCH_SECONDS: Final = 2.0
EVICTING: Final = (
    "its maxmemory-policy is {}, so it may evict scores that are nowhere else; set it to noeviction"
    ", or accept the loss with zset-store-may-evict yes"
)


OPTIONS: Final = {"cache": "cache-url", "storage": "zset-store-url"}


class TierControl:
    """Connects the keyspace's tier to the Redises that the options name."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._options = server.options
        self._keyspace = server.keyspace
        self._raising = False
        self._judged = asyncio.Event()
        self._evicts = False
        self._decided = ""
        """Why the zset-store is refused, as the log has it."""
        self._looked_at = 0.0
        self._marking = False
        self._claimants: list[Callable[[], None]] = []
        """Commands that wait for the mark."""
        self._urls = {"cache": "", "storage": ""}
        self.tier = server.keyspace.tier
        self._set_ttl(server.options.cache_ttl)
        server.keyspace.policies = [policy_of(rule) for rule in server.options.policies]

    # connections

    def start(self) -> None:
        """Connect to what is configured."""
        self._swap("cache", self._options.cache_url)
        self._swap("storage", self._options.zset_store_url)

    @property
    def effects(self) -> Effects:
        """CONFIG SET: another Redis, or other limits, from now on."""
        connecting = ("cache-url", "cache-timeout", "zset-store-url", "zset-store-timeout")
        return {
            "cache-ttl": self._set_ttl,
            **dict.fromkeys(connecting, lambda value: self.start()),
        }

    def _set_ttl(self, seconds: int) -> None:
        self.tier.ttl_seconds = seconds

    def _swap(self, role: str, url: str) -> None:
        """Use another Redis: nothing that the old one said counts any more."""
        link = getattr(self.tier, role)
        if url == self._urls[role]:
            if not isinstance(link, NoCache):
                link.timeout_seconds = self._timeout_seconds(role)
            return
        self._urls[role] = url
        log.info("%s: %s", OPTIONS[role], without_password(url) or "none from now on")
        self.tier.doubt()
        if role == "cache":
            self.tier.on = bool(url)
        if role == "storage":
            self.tier.storage_refusal, self.tier.storage_known = "", False
            self.tier.claim = None
        setattr(self.tier, role, self._open(role, url))
        link.close()

    def _open(self, role: str, url: str) -> Cache:
        if not url:
            return NoCache()
        link = Link(
            self._server.loop,
            parse_address(url),
            timeout_seconds=self._timeout_seconds(role),
            on_loss=self.tier.doubt if role == "cache" else _nothing,
            on_ready=self._ready_callback(role),
            on_cluster=lambda: self._found_cluster(role, link),
        )
        link.start()
        return link

    def _ready_callback(self, role: str) -> Callable[[], None]:
        return self._renew_generation if role == "cache" else self._storage_ready

    def _found_cluster(self, role: str, link: Link) -> None:
        """The Redis is a node of a cluster: use all of it."""
        if getattr(self.tier, role) is not link:
            return
        cluster = Cluster(
            self._server.loop,
            link.address,
            timeout_seconds=self._timeout_seconds(role),
            on_loss=self.tier.doubt if role == "cache" else None,
            on_ready=self._ready_callback(role),
        )
        setattr(self.tier, role, cluster)
        link.close()
        cluster.start()

    def _timeout_seconds(self, role: str) -> float:
        """A cache can be bypassed soon; where the scores are, waiting is better than an error."""
        options = self._options
        return (options.cache_timeout if role == "cache" else options.zset_store_timeout) / 1000

    # the zset-store

    def _storage_ready(self) -> None:
        """A new connection, perhaps to a Redis that lost everything: look before it is used."""
        self.tier.storage_known = False
        self.tier.claim = None
        self._look_at_storage()

    def _watch_storage(self) -> None:
        """Now and then: whoever runs that Redis may change its policy, or empty it."""
        now = self._server.loop.time()
        if self.tier.storage.ready and now >= self._looked_at + WATCH_SECONDS:
            self._look_at_storage()

    def _look_at_storage(self) -> None:
        """A Redis that evicts would lose scores; of a cluster every node counts."""
        self._looked_at = self._server.loop.time()
        storage = self.tier.storage
        nodes = list(storage.nodes())
        replies: list[Any] = [None] * (len(nodes) + 1)
        left = len(replies)

        def collect(at: int, reply: Any) -> None:
            nonlocal left
            replies[at] = reply
            left -= 1
            if not left and self.tier.storage is storage:
                self._judge_storage(replies[:-1], replies[-1])

        for at, node in enumerate(nodes):
            node.ask((b"CONFIG", b"GET", b"maxmemory-policy"), partial(collect, at))
        storage.ask((b"MGET", *names_in(storage)), partial(collect, len(nodes)))

    def _judge_storage(self, policies: list[Any], marks: Any) -> None:
        if marks is BYPASS:
            return  # it is away again: the next connection is looked at
        refusal: str | None = self._judge_policies(policies)
        self._evicts = bool(refusal)
        if not refusal:
            refusal = self._judge_marks(marks)
        if refusal is not None:
            self._decide(refusal)

    def _judge_policies(self, replies: list[Any]) -> str:
        refusal = ""
        for reply in replies:
            policy = reply[1].decode() if isinstance(reply, list) and len(reply) > 1 else ""
            if isinstance(reply, Exception) and not self.tier.storage_known:
                log.warning("whether the zset-store evicts is unknown: %s", reply)
            if policy not in ("", "noeviction") and not self._options.zset_store_may_evict:
                refusal = EVICTING.format(policy)
        return refusal

    def _judge_marks(self, marks: Any) -> str | None:
        """What is wrong with them, if anything; None if they are about to be written."""
        if not isinstance(marks, list):
            return f"its mark cannot be read: {marks}"
        stored = self._keyspace.store.get(rows.ZSET_STORE_ROW) or b""
        state, self.tier.token = stored[:1], stored[1:]
        refusal = judge(marks, self.tier.token)
        if refusal == FOREIGN or state == WRITTEN:
            return refusal
        if state or self._keyspace.has_remote:
            self._mark_storage()
        else:
            self.tier.claim = self._claim
            self._judged.set()
        return None

    def _claim(self, resume: Callable[[], None]) -> None:
        """The first sorted set v3 is to be written."""
        self._claimants.append(resume)
        self._mark_storage()

    def _end_marking(self) -> None:
        """It is there, or cannot be put there now: those who wait for it go on."""
        self._marking = False
        claimants, self._claimants = self._claimants, []
        for resume in claimants:
            resume()

    def _mark_storage(self) -> None:
        """First use: note the mark in the store, write it in Redis, note that it is there."""
        if self._marking:
            return
        if self._server.dispatcher.guards.refusal:  # nothing can be noted now
            self._end_marking()
            return
        self._marking = True
        token = self.tier.token or new_token()
        storage = self.tier.storage
        names = names_in(storage)
        left = len(names)
        refused: list[Any] = []

        def write() -> None:
            for name in names:
                storage.ask((b"SET", name, token), collect)

        def collect(reply: Any) -> None:
            nonlocal left
            left -= 1
            if reply is BYPASS or isinstance(reply, Exception):
                refused.append(reply)
            if left:
                return
            if not refused:
                self._note(WRITTEN + token, marked)
                return
            if refused[0] is not BYPASS:  # else the next connection is looked at
                self._decide(f"its mark cannot be written: {refused[0]}")
            self._end_marking()

        def marked() -> None:
            self.tier.token = token
            if self.tier.storage is storage and storage.ready:
                self.tier.claim = None
                self._decide("")
            self._end_marking()

        self._note(PENDING + token, write)

    def _note(self, raw: bytes, then: Callable[[], None]) -> None:
        """Keep the state of the mark in the store, then go on; if that failed, begin again."""
        server, store = self._server, self._keyspace.store
        server.turns.begin_background()
        store.pending[rows.ZSET_STORE_ROW] = raw

        def committed() -> None:
            if store.get(rows.ZSET_STORE_ROW) == raw:
                then()
            else:
                self._end_marking()

        server.turns.flush_now(committed)

    def _decide(self, refusal: str) -> None:
        """Use it, or refuse it with that reason."""
        tier = self.tier
        if refusal and refusal != self._decided:
            log.error("zset-store-url: %s", refusal)
        elif not refusal and self._decided:
            log.warning("the zset-store is in use again")
        elif not tier.storage_known:
            log.info("the zset-store is in use")
        self._decided = tier.storage_refusal = refusal
        if refusal:
            tier.claim = None
        tier.storage_known = True
        self._judged.set()

    def adopt(self) -> None:
        """STRATA ADOPT: take a Redis that lost our scores for an empty one; raises if it is not."""
        if self.tier.storage_refusal != EMPTIED:
            raise CommandError(errors.NOTHING_TO_ADOPT)
        log.warning("STRATA ADOPT: the scores that the zset-store has lost are given up")
        self._note(PENDING + self.tier.token, self._look_at_storage)

    async def verify(self) -> None:
        """At the start: refuse a zset-store that evicts; one that is away may come later."""
        self.start()
        if not self._options.zset_store_url:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(VERIFY_SECONDS):
                await self._judged.wait()
        if self._evicts:
            url = self._options.zset_store_url
            raise BadOption("zset-store-url", url, self.tier.storage_refusal)

    def close(self) -> None:
        """The server stops."""
        self.tier.cache.close()
        self.tier.storage.close()

    # generations

    def check(self) -> None:
        """Called often: see what the Redises are up to."""
        self._watch_storage()
        self._renew_generation()

    def _renew_generation(self) -> None:
        """Make the cache usable again after a doubt: under a new generation, once it is stored."""
        tier, server = self.tier, self._server
        if tier.usable or self._raising or not tier.cache.ready:
            return
        if server.dispatcher.guards.refusal:
            return  # the store cannot be written
        self._raising = True
        server.turns.begin_background()
        ended = self._keyspace.raise_generation()

        def committed() -> None:
            self._raising = False
            ended()
            if tier.usable:
                log.info("the cache is in use, with generation %d", tier.generation)

        server.turns.flush_now(committed)


def policy_of(rule: PolicyRule) -> Policy:
    """A rule of the file, ready to be matched."""
    pattern = rule.match.encode()
    versions = {metas.HASH: rule.hash, metas.SET: rule.set, metas.ZSET: rule.zset}
    return Policy(
        pattern,
        compile_glob(pattern),
        rule.db,
        {type_: version for type_, version in versions.items() if version is not None},
        rule.cache,
        rule.cache_ttl,
        rule.source,
    )


def _nothing(*_: Any) -> None:
    """No entries that could be old."""
