"""Open files: the limit is raised at start, or fewer clients are admitted and the log says so."""

from __future__ import annotations

import subprocess
import sys

from tests.harness.waiting import HANG_S

SCRIPT = """
import resource, sys
from stratakv import descriptors
from stratakv.options import Options

soft, hard, clients = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
options = Options(maxclients=clients, max_open_files=100)
descriptors.prepare(options)
print(options.maxclients, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def prepared(soft: int, hard: int, clients: int) -> tuple[int, int, str]:
    """maxclients and the limit after the start, and what was logged."""
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(soft), str(hard), str(clients)],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    admitted, limit = map(int, ended.stdout.split())
    return admitted, limit, ended.stderr


def test_the_limit_is_raised_for_clients_and_tables() -> None:
    assert prepared(256, 1024, 600) == (600, 600 + 200 + 32, "")


def test_the_limit_is_raised_for_leveldb_s_share() -> None:
    assert prepared(256, 1024, 10) == (10, 500, "")


def test_a_limit_that_is_high_enough_stays() -> None:
    assert prepared(900, 1024, 600) == (600, 900, "")


def test_fewer_clients_are_admitted_where_the_system_allows_no_more() -> None:
    admitted, limit, logged = prepared(256, 400, 600)
    assert limit == 400
    assert admitted == 400 - 200 - 32
    assert "maxclients is 168 instead of 600" in logged
    assert "400 open files" in logged
