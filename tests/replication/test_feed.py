"""The stream stands where the store says, whatever was refused."""

from __future__ import annotations

import pytest

from stratakv.proxy.replication.feed import PING, Feed
from stratakv.proxy.wire.packing import MANY
from tests.encodings.fixtures import Bench
from tests.harness.wire import encode


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


def sent(feed: Feed, begin: int) -> bytes:
    """What has left since an offset."""
    assert feed.backlog is not None
    return b"".join(feed.backlog.since(begin))


def test_a_run_is_told_as_its_commands_would_be_one_by_one(bench: Bench) -> None:
    streams = []
    for is_run in (False, True):
        feed = Feed(bench.keyspace, 1 << 20)
        feed.renew()
        feed.open()
        feed.lead()
        bench.commit()
        begin = feed.position.offset
        for database, count in ((0, 3), (0, 2), (5, 1), (0, MANY + 7)):
            commands = [[b"SET", b"k%d" % number, b"v"] for number in range(count)]
            if is_run:
                feed.tell_run(database, commands)
            else:
                for command in commands:
                    feed.tell([(database, command)])
            feed.insert(PING)
            feed.tell([(database, (b"DEL", b"a")), (2, (b"DEL", b"b"))])
        expected = feed.position.offset
        bench.commit()
        streams.append(sent(feed, begin))
        assert begin + len(streams[-1]) == expected == feed.sent
    assert streams[0] == streams[1]
    assert streams[0].startswith(encode("SELECT", 0) + encode("SET", "k0", "v"))


def test_the_row_counts_what_was_told_before_it_was_packed(bench: Bench, feed: Feed) -> None:
    begin = feed.position.offset
    feed.tell_run(3, [[b"INCR", b"k"]] * 5)
    bench.commit()
    assert sent(feed, begin) == encode("SELECT", 3) + encode("INCR", "k") * 5
    stored = Feed(bench.keyspace, 1000).position
    assert (stored.offset, stored.database) == (feed.sent, 3)


def test_a_commit_leaves_nothing_to_write(bench: Bench, feed: Feed) -> None:
    feed.tell_run(0, [[b"INCR", b"k"]] * 5)
    assert bench.keyspace.changed
    bench.commit()
    assert not bench.keyspace.changed


def test_what_was_told_and_not_packed_is_refused_as_well(bench: Bench, feed: Feed) -> None:
    before = feed.position
    feed.tell_run(0, [[b"INCR", b"k"]] * 5)
    bench.keyspace.abandon()
    feed.abandon()
    assert feed.position == before
    bench.commit()
    assert sent(feed, before.offset) == b""


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
