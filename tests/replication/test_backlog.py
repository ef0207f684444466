"""The backlog has the last bytes of the stream, and no more than it may."""

from __future__ import annotations

import random

from stratakv.proxy.replication.backlog import Backlog
from stratakv.proxy.wire.packing import LARGE, Packing, joined, pack, packed_size, request


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


def test_a_command_is_packed_the_same_in_one_go_and_in_steps() -> None:
    words = [b"MSET", b"x" * (LARGE + 1), b"", *[b"%d" % number for number in range(2500)]]
    at_once: list[bytes] = []
    pack(words, at_once)
    slowly: list[bytes] = []
    steps = Packing(words)
    while not steps.step(slowly):
        pass
    assert b"".join(slowly) == b"".join(at_once) == b"".join(joined(at_once)) == request(*words)
    assert packed_size(words) == len(request(*words))
    assert packed_size([b"PING"]) == len(b"*1\r\n$4\r\nPING\r\n")
