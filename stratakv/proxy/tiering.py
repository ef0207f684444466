"""The Redis tier of a running server: connections, generations, and changes while running."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from stratakv.encodings import metas
from stratakv.encodings.globs import compile_glob
from stratakv.encodings.policies import Policy
from stratakv.options import BadOption, PolicyRule
from stratakv.storage.cache.address import parse_address
from stratakv.storage.cache.cluster import Cluster
from stratakv.storage.cache.contract import Cache, NoCache
from stratakv.storage.cache.link import Link

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

VERIFY_SECONDS: Final = 2.0
EVICTING: Final = (
    "its maxmemory-policy is {}, so it may evict scores that are nowhere else; set it to noeviction"
    ", or accept the loss with zset-store-may-evict yes"
)


class Tiering:
    """Connects the keyspace's tier to the Redises that the options name."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._options = server.options
        self._keyspace = server.keyspace
        self._raising = False
        self._judged = asyncio.Event()
        self._urls = {"cache": "", "storage": ""}
        self.tier = tier = server.keyspace.tier
        tier.spawn = server.patience.start
        tier.wait = server.patience.wait
        tier.pause = server.patience.pause
        tier.ttl_seconds = server.options.cache_ttl
        server.keyspace.policies = [policy_of(rule) for rule in server.options.policies]

    # connections

    def start(self) -> None:
        """Connect to what is configured."""
        self._swap("cache", self._options.cache_url)
        self._swap("storage", self._options.zset_store_url)

    def adjust(self, name: str) -> None:
        """CONFIG SET: another Redis, or other limits, from now on."""
        self.tier.ttl_seconds = self._options.cache_ttl
        if name in ("cache-url", "cache-timeout", "zset-store-url", "zset-store-timeout"):
            self.start()

    def _swap(self, role: str, url: str) -> None:
        """Use another Redis: nothing that the old one said counts any more."""
        link = getattr(self.tier, role)
        if url == self._urls[role]:
            if not isinstance(link, NoCache):
                link.timeout_seconds = self._timeout_seconds(role)
            return
        self._urls[role] = url
        self.tier.doubt()
        if role == "cache":
            self.tier.on = bool(url)
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
        return self.check if role == "cache" else self._check_storage

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

    def _check_storage(self) -> None:
        """A Redis that evicts would lose scores; of a cluster every node counts."""
        nodes = list(self.tier.storage.nodes())
        policies: list[Any] = []

        def collect(reply: Any) -> None:
            policies.append(reply)
            if len(policies) == len(nodes):
                self._judge_storage(policies)

        for node in nodes:
            node.ask((b"CONFIG", b"GET", b"maxmemory-policy"), collect)

    def _judge_storage(self, replies: list[Any]) -> None:
        refusal = ""
        for reply in replies:
            policy = reply[1].decode() if isinstance(reply, list) and len(reply) > 1 else ""
            if isinstance(reply, Exception):
                log.warning("whether the zset-store evicts is unknown: %s", reply)
            if policy not in ("", "noeviction") and not self._options.zset_store_may_evict:
                refusal = EVICTING.format(policy)
                log.error("zset-store-url: %s", refusal)
        self.tier.storage_refusal = refusal
        self._judged.set()

    async def verify(self) -> None:
        """At the start: refuse a zset-store that evicts; one that is away may come later."""
        self.start()
        if not self._options.zset_store_url:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(VERIFY_SECONDS):
                await self._judged.wait()
        if self.tier.storage_refusal:
            url = self._options.zset_store_url
            raise BadOption("zset-store-url", url, self.tier.storage_refusal)

    def close(self) -> None:
        """The server stops."""
        self.tier.cache.close()
        self.tier.storage.close()

    # generations

    def check(self) -> None:
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
