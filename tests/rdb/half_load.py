"""Loads a dump into a data directory and stops halfway, until it is killed."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from stratakv.storage.leveldb.engine import LevelEngine
from tests.rdb import dumps


def halves(data: bytes) -> Iterator[bytes]:
    yield data[: len(data) // 2]
    print("halfway", flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    directory, dump = map(Path, sys.argv[1:])
    keyspace = dumps.opened(LevelEngine(directory))
    dumps.begun(keyspace).run(halves(dump.read_bytes()))
