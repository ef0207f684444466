"""The stream stands where the store says, whatever was refused."""

from __future__ import annotations

import pytest

from stratakv.proxy.replication.feed import Feed
from tests.encodings.fixtures import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def feed(bench: Bench) -> Feed:
    opened = Feed(bench.keyspace, 1000)
    opened.renew()
    opened.open()
    opened.lead()
    bench.commit()
    return opened


def refuse(bench: Bench, feed: Feed) -> dict[bytes, bytes | None]:
    """The store takes nothing of what was decided; the batch that it would have been."""
    bench.keyspace.collect()
    batch = dict(bench.store.pending)
    bench.keyspace.abandon()
    feed.abandon()
    return batch


def test_what_was_refused_is_not_in_the_stream(bench: Bench, feed: Feed) -> None:
    before = feed.position
    feed.tell([(0, [b"SET", b"k", b"v"])])
    assert feed.position.offset > before.offset
    refuse(bench, feed)
    assert feed.position == before
    assert feed.sent == before.offset


def test_a_refused_batch_that_comes_back_is_missing_in_the_backlog(
    bench: Bench, feed: Feed
) -> None:
    """LevelDB logs a batch before it syncs: one that was refused then is there when it reopens."""
    before = feed.position
    feed.tell([(0, [b"SET", b"k", b"v"])])
    told = feed.position
    bench.engine.write(refuse(bench, feed))
    bench.keyspace.abandon()
    feed.mend()
    assert feed.position == told
    assert feed.sent == told.offset
    assert feed.backlog is not None
    assert not feed.backlog.has(before.offset), "a replica would go on without it"


def test_an_id_that_was_refused_is_followed_by_another(bench: Bench, feed: Feed) -> None:
    before = feed.position
    feed.shift()
    refused = feed.position.id
    refuse(bench, feed)
    assert feed.position == before
    feed.tell([(0, [b"SET", b"k", b"v"])])
    assert feed.position.id not in (before.id, refused)
    assert feed.position.second_id == before.id
    assert feed.position.second_offset == before.offset + 1


def test_a_stream_whose_beginning_was_refused_begins_when_it_can(bench: Bench) -> None:
    feed = Feed(bench.keyspace, 1000)
    feed.renew()
    feed.open()
    refuse(bench, feed)
    bench.commit()
    assert Feed(bench.keyspace, 1000).position != feed.position
    feed.mend()
    bench.commit()
    assert Feed(bench.keyspace, 1000).position == feed.position
