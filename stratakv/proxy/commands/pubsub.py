"""Pub/Sub commands: subscriptions, messages, and what is known of both."""

from collections.abc import Iterable
from functools import partial

from stratakv import errors
from stratakv.encodings.keyspace.keyspace import Effect
from stratakv.encodings.layout.globs import compile_glob
from stratakv.proxy.clients.pubsub import PubSub, Topics
from stratakv.proxy.clients.session import Session
from stratakv.proxy.commands import effects
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NO_REPLY, Push, Reply, Several, Status

_GROUP = CommandGroup("pubsub")
command, container = _GROUP.command, _GROUP.container

_SUBSCRIBE = "pubsub noscript loading stale"
_PUBLISH = "pubsub loading stale fast"
_ASK = "pubsub loading stale"


# subscriptions


@command(
    "SUBSCRIBE channel [channel ...]",
    _SUBSCRIBE,
    channels="names",
    traits="subscriber",
    since="2.0.0",
    tenants="own",
)
def subscribe(session: Session, *channels: bytes) -> Reply:
    """Listen to channels."""
    return _subscribe(session, session.realm.pubsub.channels, b"subscribe", channels)


@command(
    "PSUBSCRIBE pattern [pattern ...]",
    _SUBSCRIBE,
    channels="patterns",
    traits="subscriber",
    since="2.0.0",
    tenants="own",
)
def psubscribe(session: Session, *patterns: bytes) -> Reply:
    """Listen to all channels that match patterns."""
    return _subscribe(session, session.realm.pubsub.patterns, b"psubscribe", patterns)


@command(
    "SSUBSCRIBE shardchannel [shardchannel ...]",
    _SUBSCRIBE,
    keys=(1, -1, 1),
    channels="names",
    traits="subscriber",
    key_flags="not_key",
    since="7.0.0",
    tenants="own",
)
def ssubscribe(session: Session, *channels: bytes) -> Reply:
    """Listen to shard channels."""
    return _subscribe(session, session.realm.pubsub.shard_channels, b"ssubscribe", channels)


@command(
    "UNSUBSCRIBE [channel [channel ...]]",
    _SUBSCRIBE,
    traits="subscriber",
    since="2.0.0",
    tenants="own",
)
def unsubscribe(session: Session, *channels: bytes) -> Reply:
    """Stop listening to channels, or to all of them."""
    return _unsubscribe(session, session.realm.pubsub.channels, b"unsubscribe", channels)


@command(
    "PUNSUBSCRIBE [pattern [pattern ...]]",
    _SUBSCRIBE,
    traits="subscriber",
    since="2.0.0",
    tenants="own",
)
def punsubscribe(session: Session, *patterns: bytes) -> Reply:
    """Stop listening to patterns, or to all of them."""
    return _unsubscribe(session, session.realm.pubsub.patterns, b"punsubscribe", patterns)


@command(
    "SUNSUBSCRIBE [shardchannel [shardchannel ...]]",
    _SUBSCRIBE,
    keys=(1, -1, 1),
    traits="subscriber",
    key_flags="not_key",
    since="7.0.0",
    tenants="own",
)
def sunsubscribe(session: Session, *channels: bytes) -> Reply:
    """Stop listening to shard channels, or to all of them."""
    return _unsubscribe(session, session.realm.pubsub.shard_channels, b"sunsubscribe", channels)


def _subscribe(session: Session, topics: Topics, word: bytes, names: Iterable[bytes]) -> Reply:
    """Add subscriptions; one reply for each."""
    pubsub = session.realm.pubsub
    frames = Several()
    for name in names:
        pubsub.subscribe(topics, session, name)
        frames.append(Push([word, name, _count(pubsub, topics, session)]))
    return _confirm(session, frames)


def _unsubscribe(session: Session, topics: Topics, word: bytes, names: Iterable[bytes]) -> Reply:
    """Take subscriptions away, all if none is named; one reply for each, but at least one."""
    pubsub = session.realm.pubsub
    frames = Several()
    for name in names or topics.names_of(session):
        pubsub.unsubscribe(topics, session, name)
        frames.append(Push([word, name, _count(pubsub, topics, session)]))
    if not frames:
        frames.append(Push([word, None, _count(pubsub, topics, session)]))
    return _confirm(session, frames)


def _count(pubsub: PubSub, topics: Topics, session: Session) -> int:
    """The number that confirmations carry: shard channels are counted on their own."""
    if topics is pubsub.shard_channels:
        return topics.count_of(session)
    return pubsub.channels.count_of(session) + pubsub.patterns.count_of(session)


def _confirm(session: Session, frames: Several) -> Reply:
    """Confirmations are pushes, so that CLIENT REPLY OFF does not silence them."""
    if session.unit is not None:
        return frames
    session.push(frames)
    return NO_REPLY


# messages


@command(
    "PUBLISH channel message",
    _PUBLISH,
    channels="first",
    traits="replicates",
    since="2.0.0",
    effect=effects.nothing,
    tenants="own",
)
def publish(session: Session, channel: bytes, message: bytes) -> int:
    """Send a message to a channel."""
    pubsub = _addressed(session)
    receivers = pubsub.count_receivers(channel)
    session.txn.when_applied(partial(pubsub.publish, channel, message))
    cluster = session.server.cluster
    if cluster is not None and not session.realm.id:
        told = [b"STRATA", b"RELAY", channel, message]
        session.txn.when_applied(partial(cluster.links.tell_all, told))
    _tell(session)
    return receivers


@command(
    "SPUBLISH shardchannel message",
    _PUBLISH,
    keys=(1, 1, 1),
    channels="first",
    traits="replicates",
    key_flags="not_key",
    since="7.0.0",
    effect=effects.nothing,
    tenants="own",
)
def spublish(session: Session, channel: bytes, message: bytes) -> int:
    """Send a message to a shard channel."""
    pubsub = _addressed(session)
    receivers = len(pubsub.shard_channels.listening(channel))
    session.txn.when_applied(partial(pubsub.publish_shard, channel, message))
    _tell(session)
    return receivers


def _addressed(session: Session) -> PubSub:
    """Who may hear it: those of the realm whose database is selected, for a master has none."""
    realm = session.server.realms.of_database(session.txn.db.index)
    return (realm or session.realm).pubsub


def _tell(session: Session) -> None:
    """Subscribers of replicas hear messages too."""
    txn = session.txn
    if txn.keyspace.replicates:
        told: list[Effect] = [(txn.db.index, session.request)]
        txn.when_applied(partial(txn.keyspace.on_effects, told))


# questions

container("PUBSUB", since="2.8.0")


@command("PUBSUB CHANNELS [pattern]", _ASK, arity=-2, since="2.8.0", tenants="own")
def pubsub_channels(session: Session, *pattern: bytes) -> Reply:
    """Return the channels that somebody listens to."""
    return _active(session, session.realm.pubsub.channels, pattern)


@command("PUBSUB SHARDCHANNELS [pattern]", _ASK, arity=-2, since="7.0.0", tenants="own")
def pubsub_shardchannels(session: Session, *pattern: bytes) -> Reply:
    """Return the shard channels that somebody listens to."""
    return _active(session, session.realm.pubsub.shard_channels, pattern)


@command("PUBSUB NUMSUB [channel [channel ...]]", _ASK, since="2.8.0", tenants="own")
def pubsub_numsub(session: Session, *channels: bytes) -> Reply:
    """Return how many clients listen to channels."""
    return _numbers(session.realm.pubsub.channels, channels)


@command("PUBSUB SHARDNUMSUB [shardchannel [shardchannel ...]]", _ASK, since="7.0.0", tenants="own")
def pubsub_shardnumsub(session: Session, *channels: bytes) -> Reply:
    """Return how many clients listen to shard channels."""
    return _numbers(session.realm.pubsub.shard_channels, channels)


@command("PUBSUB NUMPAT", _ASK, since="2.8.0", tenants="own")
def pubsub_numpat(session: Session) -> int:
    """Return how many patterns somebody listens to."""
    return len(session.realm.pubsub.patterns.sessions)


@command("PUBSUB HELP", "loading stale", since="6.2.0", tenants="own")
def pubsub_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("PUBSUB")


def _active(session: Session, topics: Topics, pattern: tuple[bytes, ...]) -> list[bytes]:
    if len(pattern) > 1:
        raise errors.wrong_subcommand("PUBSUB", session.request[1])
    matches = compile_glob(pattern[0] if pattern else b"*")
    return [name for name in topics.sessions if matches(name)]


def _numbers(topics: Topics, names: tuple[bytes, ...]) -> list[bytes | int]:
    found: list[bytes | int] = []
    for name in names:
        found += [name, len(topics.sessions.get(name, ()))]
    return found
