"""A small store of all types, and ways to damage its files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.table.registry import TABLE
from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions
from stratakv.storage.leveldb.survey import survey, table_path
from tests.encodings.fixtures import ENDLESS, Bench

Rows = dict[bytes, bytes]
SMALL = LevelOptions(write_buffer=1 << 16, block_cache=1 << 16)
KEYS = 360
FAR_MS = b"4000000000000"


@dataclass
class Sample:
    """A store as a killed server leaves it, and the states that its log leads through."""

    directory: Path
    states: list[Rows]

    @property
    def truth(self) -> Rows:
        return self.states[-1]


def run(bench: Bench, *words: bytes) -> object:
    """Run a command on database 0."""
    txn = bench.txn()
    reply = TABLE[words[0].lower()].handler(txn, *words[1:])
    txn.apply()
    return reply


def make_sample(home: Path) -> Sample:
    """Tables on several levels, deletions among them, and a log of forty batches."""
    engine = LevelEngine(home / "live", SMALL)
    bench = Bench(engine)
    noise = random.Random(7)
    for number in range(KEYS):
        write_key(bench, number, noise)
        if number % 20 == 19:
            bench.commit()
        if number == KEYS // 2:
            engine.compact(b"", ENDLESS)
    engine.reopen()  # from here on everything is in the log
    bench.open()
    states = [bench.rows()]
    for number in range(KEYS, KEYS + 40):
        for words in commands_of(number, noise):  # each is a batch: a scan writes what is pending
            run(bench, *words)
            bench.commit()
            states.append(bench.rows())
    engine.close()
    return Sample(home / "live", states)


def write_key(bench: Bench, number: int, noise: random.Random) -> None:
    """Run the commands of a number."""
    for words in commands_of(number, noise):
        run(bench, *words)


def commands_of(number: int, noise: random.Random) -> Iterator[tuple[bytes, ...]]:
    """One more key, and now and then one less."""
    key = b"key:%d" % number
    words = [noise.randbytes(12).hex().encode() for _ in range(8)]
    timed = (b"PXAT", FAR_MS) if number % 12 else ()
    made: tuple[tuple[bytes, ...], ...] = (
        (b"SET", key, noise.randbytes(300), *timed),
        (b"HSET", key, *words, *words),
        (b"SADD", key, *words),
        (b"RPUSH", key, *words),
        (b"ZADD", key, *[part for at, word in enumerate(words) for part in (b"%d" % at, word)]),
        (b"XADD", key, b"*", *words),
    )
    yield made[number % len(made)]
    if number % 60 == 0:
        yield b"SET", key + b":long", noise.randbytes(150_000)
    if number % 12 == 1:
        yield b"HPEXPIREAT", key, FAR_MS, b"FIELDS", b"1", words[0]
    if number % 9 == 8:
        yield b"DEL", b"key:%d" % (number - 5)


def files_of(directory: Path, kind: str) -> list[Path]:
    """The live files of a kind."""
    if kind == "table":
        numbers = [table.number for table in survey(directory).tables]
        return [table_path(directory, number) for number in sorted(numbers)]
    return sorted(directory.glob("*.log" if kind == "log" else kind + "*"))


def flip(path: Path, at: int) -> None:
    """Change one byte."""
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


def harm(directory: Path, kind: str, chance: random.Random) -> tuple[str, str]:
    """Damage one file of a kind; returns its name and what was done to it."""
    path = chance.choice(files_of(directory, kind))
    content = bytearray(path.read_bytes())
    at = chance.randrange(len(content))
    way = chance.choice(("flip", "flip", "zeros", "noise", "cut"))
    if way == "flip":
        content[at] ^= 1 << chance.randrange(8)
    elif way == "cut":
        del content[at:]
    else:
        size = min(chance.randrange(1, 600), len(content) - at)
        content[at : at + size] = bytes(size) if way == "zeros" else chance.randbytes(size)
    path.write_bytes(content)
    return path.name, f"{way} at {at}"
