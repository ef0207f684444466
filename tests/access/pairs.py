"""A Redis and a StrataKV whose users may be changed: the shared servers' may not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.access import rules
from stratakv.proxy.access.selectors import Selector
from tests.differential.inventory import LATER, OWN
from tests.harness.servers import Process, RedisServer, StrataServer
from tests.harness.wire import Arg, Frame, Reply, WireClient

OUR_OWN = frozenset(name.lower() for name in LATER | OWN)
"""What Redis 7.0 does not know."""


class Two(NamedTuple):
    """The same client at both servers."""

    redis: WireClient
    strata: WireClient

    def send(self, *args: Arg) -> tuple[Reply, Reply]:
        return self.redis.send(*args), self.strata.send(*args)

    def same(self, *args: Arg) -> bytes:
        """Both answer with the same bytes, which are returned."""
        redis, strata = self.send(*args)
        assert strata.raw == redis.raw, args
        return strata.raw

    def same_lines(self, calls: str) -> None:
        """Both answer all lines alike; a failure shows every one that differs."""
        pairs = [(line, *self.send(*words(line))) for line in calls.strip().splitlines()]
        different = [(line, one.raw, two.raw) for line, one, two in pairs if one.raw != two.raw]
        assert different == []

    def shown(self, *args: Arg) -> tuple[object, object]:
        """Both replies, with what is open made alike."""
        redis, strata = self.send(*args)
        return comparable(redis.frame), comparable(strata.frame)

    def close(self) -> None:
        self.redis.close()
        self.strata.close()


def words(line: str) -> list[bytes]:
    """The words of a line; `_` is a space within one, `\\n` and `\\0` stand for such bytes."""
    texts = [word.replace("_", " ").encode() for word in line.split(" ")]
    return [text.replace(b"\\n", b"\n").replace(b"\\0", b"\0") for text in texts]


class Pair(NamedTuple):
    """Both servers."""

    redis: Process
    strata: Process

    @classmethod
    def start(cls, directory: Path, **flags: Iterable[str]) -> Self:
        redis = RedisServer(directory / "redis", flags=tuple(flags.get("redis", ()))).start()
        strata = StrataServer(directory / "strata", flags=tuple(flags.get("strata", ()))).start()
        return cls(redis, strata)

    @contextmanager
    def clients(self, protocol: int = 2) -> Iterator[Two]:
        two = Two(self.redis.client(protocol), self.strata.client(protocol))
        try:
            yield two
        finally:
            two.close()

    def stop(self) -> None:
        self.redis.stop()
        self.strata.stop()


def comparable(frame: Frame) -> object:
    """A reply with what its rules about commands mean, in whatever words they are told."""
    if frame.items is not None:
        return (frame.kind, [comparable(item) for item in frame.items])
    data = frame.data or b""
    if not re.search(rb"(^|[ (])[+-]@all", data) or frame.is_error:
        return (frame.kind, frame.data)
    start = min(at for at in (data.find(b"+@all"), data.find(b"-@all")) if at >= 0)
    parts = re.split(rb"(?=[ (][+-]@all)|\)", data[:start] + b" " + data[start:])
    return (frame.kind, [_meaning(part) for part in parts])


def _meaning(part: bytes) -> object:
    """Everything but the commands as it stands, and the commands that all of its rules grant."""
    selector = Selector()
    others: list[bytes] = []
    for rule in part.replace(b"(", b" ( ").split():
        if rule[:1] not in b"+-":
            others.append(rule)
        elif rule[1:] != b"restore-asking":
            rules.apply_to_selector(selector, rule)
    names = {entry.name for entry in selector.commands}
    granted = {name for name in names if not {name, name.split("|")[0]} & OUR_OWN}
    arguments = {entry.name: sorted(w) for entry, w in selector.first_arguments.items()}
    return (others, selector.future, sorted(granted), arguments)
