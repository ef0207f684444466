"""The backlog has the last bytes of the stream, and no more than it may."""

from __future__ import annotations

import random

from stratakv.proxy.replication.backlog import Backlog


def test_what_follows_an_offset_is_given_back_as_long_as_it_is_there() -> None:
    dice = random.Random(1)
    backlog, stream = Backlog(1000, 5), b"?" * 5
    for _ in range(300):
        chunk = dice.randbytes(dice.randint(1, 120))
        stream += chunk
        backlog.append(chunk)
        assert backlog.size <= 1000
        assert backlog.end == len(stream)
        for offset in range(backlog.start, backlog.end + 1, 37):
            assert b"".join(backlog.since(offset)) == stream[offset:]
        assert not backlog.has(backlog.start - 1)
        assert not backlog.has(backlog.end + 1)
    assert backlog.size > 800


def test_a_chunk_larger_than_the_limit_leaves_its_end() -> None:
    backlog = Backlog(10, 0)
    backlog.append(b"0123456789abcdef")
    assert (backlog.start, backlog.end) == (6, 16)
    assert b"".join(backlog.since(6)) == b"6789abcdef"
    assert backlog.since(16) == []
