"""Applications that were written for Redis, unchanged, on a real StrataKV."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S

PACKAGES = ("bullmq@6.7.0", "ioredis@5.11.1")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a StrataKV that one test module has for itself."""
    server = StrataServer(tmp_path_factory.mktemp("applications") / "data").start()
    yield f"redis://127.0.0.1:{server.port}/0"
    server.stop()


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    """redis-py on an empty keyspace."""
    with redis.Redis.from_url(url) as connected:
        connected.flushall()
        yield connected


@pytest.fixture(scope="module")
def modules(request: pytest.FixtureRequest) -> Path:
    """A folder with the packages, kept from run to run in pytest's cache."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("programs of Node.js need node and npm")
    place = request.config.cache.mkdir("-".join(PACKAGES).replace("@", "-"))
    if not (place / "complete").exists():
        install(place)
        (place / "complete").touch()
    return place / "node_modules"


def install(place: Path) -> None:
    (place / "package.json").write_text('{"private": true}')
    argv = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    try:
        subprocess.run(argv, cwd=place, check=True, capture_output=True, text=True, timeout=HANG_S)
    except subprocess.SubprocessError as failed:
        pytest.skip(f"npm could not install {' '.join(PACKAGES)}: {failed}")
