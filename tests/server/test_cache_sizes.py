"""The caches: what the options say, else a share of the machine's memory."""

import re
from pathlib import Path

import pytest

from stratakv import cache_sizes
from stratakv.cache_sizes import LEAST_BYTES, MOST_BYTES
from stratakv.options import Options
from tests.harness.servers import StrataServer


@pytest.mark.parametrize(
    ("machine", "all_together"),
    [(0, LEAST_BYTES), (1 << 30, LEAST_BYTES), (16 << 30, 1 << 30), (1 << 40, MOST_BYTES)],
)
def test_what_is_not_said_is_a_share_of_the_machine(machine: int, all_together: int) -> None:
    sizes = cache_sizes.cache_sizes(Options(), machine)
    assert sum(sizes) == all_together
    assert sizes.metas > sizes.blocks > sizes.rows > 0


def test_what_is_said_holds() -> None:
    options = Options(meta_cache_bytes=1 << 20, block_cache_bytes=2 << 20, row_cache_bytes=3 << 20)
    assert cache_sizes.cache_sizes(options, 1 << 40) == (1 << 20, 2 << 20, 3 << 20)


def test_a_container_counts_as_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(cache_sizes, "_LIMITS", (limit, tmp_path / "none"))
    whole = cache_sizes.machine_bytes()
    assert whole > 1 << 28
    limit.write_text("max\n")
    assert cache_sizes.machine_bytes() == whole
    limit.write_text("268435456\n")
    assert cache_sizes.machine_bytes() == 1 << 28


def test_the_sizes_are_named_at_start_up_and_can_be_changed(tmp_path: Path) -> None:
    flags = ["--row-cache-bytes", "5mb", "--log-level", "info"]
    server = StrataServer(tmp_path / "data", flags=flags).start()
    try:
        assert " 5 MB for rows" in server.output()
        assert re.search(r"ready port=.* caches=\d+mb", server.output())
        with server.client() as client:
            client.send("CONFIG", "SET", "row-cache-bytes", "7mb")
            assert b"row_cache_limit_bytes:7340032" in client.send("INFO", "cache").raw
            client.send("CONFIG", "SET", "row-cache-bytes", "0")
            assert b"row_cache_limit_bytes:7340032" not in client.send("INFO", "cache").raw
    finally:
        server.stop()
