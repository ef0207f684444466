"""Options: where they come from, which source wins, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stratakv import options
from stratakv.options import BadOption, Options
from stratakv.proxy.config.settings import Settings


def test_without_anything_the_defaults_hold() -> None:
    assert options.load({}, {}, None) == Options()
    assert (Options().bind, Options().port, Options().http_port) == (("127.0.0.1",), 6380, 9121)


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "stratakv.toml"
    file.write_text('port = 1\nmaxclients = 1\ntimeout = 1\ndir = "/from/file"\n')
    environment = {"STRATAKV_PORT": "2", "STRATAKV_MAXCLIENTS": "2", "OTHER": "x"}
    chosen = options.load({"port": "3"}, environment, file)
    assert (chosen.port, chosen.maxclients, chosen.timeout) == (3, 2, 1)
    assert chosen.dir == "/from/file"


def test_a_file_may_use_its_own_types_and_either_spelling(tmp_path: Path) -> None:
    file = tmp_path / "stratakv.toml"
    file.write_text(
        'bind = ["127.0.0.1", "::1"]\nhttp = false\nhttp-port = 1\n'
        'meta_cache_bytes = "64mb"\nproto-max-bulk-len = 1000000\n'
    )
    chosen = options.load({}, {}, file)
    assert chosen.bind == ("127.0.0.1", "::1")
    assert (chosen.http, chosen.http_port) == (False, 1)
    assert (chosen.meta_cache_bytes, chosen.proto_max_bulk_len) == (64 << 20, 1_000_000)


@pytest.mark.parametrize("name", options.declared())
def test_every_default_reads_back_as_it_is_shown(name: str) -> None:
    shown = options.show(Options(), name)
    assert options.parse(name, shown) == getattr(Options(), name.replace("-", "_"))


@pytest.mark.parametrize("name", options.declared())
def test_every_option_says_what_it_is_for(name: str) -> None:
    assert options.declared()[name].metadata["doc"]


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("port", "65536", "a whole number from 0 to 65535"),
        ("port", "-1", "a whole number from 0 to 65535"),
        ("port", "http", "a whole number"),
        ("port", "", "a whole number"),
        ("maxclients", "0", "a whole number from 1"),
        ("http", "perhaps", "yes or no"),
        ("durability", "never", "one of os, everysec, always"),
        ("meta-cache-bytes", "64 parsecs", "a size in bytes"),
        ("meta-cache-bytes", "-1", "a size in bytes"),
        ("client-output-buffer-limit", "normal 1", "groups of"),
        ("client-output-buffer-limit", "everybody 1 1 1", "groups of"),
        ("hash-encoding", "4", "a whole number"),
        ("log-level", "loud", "one of debug, info, warning, error"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_what_is_allowed(
    name: str, value: str, allowed: str
) -> None:
    with pytest.raises(BadOption) as refused:
        options.load({name: value}, {}, None)
    message = str(refused.value)
    assert name in message
    assert repr(value) in message
    assert allowed in message
    assert f"--{name}" in message


def test_a_bad_value_names_the_source_that_gave_it(tmp_path: Path) -> None:
    file = tmp_path / "stratakv.toml"
    file.write_text("port = 70000\n")
    with pytest.raises(BadOption, match=r"stratakv\.toml"):
        options.load({}, {}, file)
    with pytest.raises(BadOption, match="STRATAKV_PORT"):
        options.load({}, {"STRATAKV_PORT": "70000"}, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("prot = 6380\n", "prot.*is not an option"),
        ("port = = 6380\n", "is not valid TOML.*line 1"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "stratakv.toml"
    file.write_text(text)
    with pytest.raises(BadOption, match=reason):
        options.load({}, {}, file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="cannot be read: No such file"):
        options.load({}, {}, tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "size"), [("100", 100), ("1k", 1000), ("1kb", 1024), ("2MB", 2 << 20), ("1g", 10**9)]
)
def test_sizes_have_redis_s_units(text: str, size: int) -> None:
    assert options.parse_size(text) == size


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("save", "60 1"),
        ("cache-url", "redis://127.0.0.1:6379"),
        ("zset-store-url", "redis://127.0.0.1:6379"),
    ],
)
def test_what_cannot_be_with_groups_of_slots_cannot_be_set_while_running(
    name: str, value: str
) -> None:
    alone = Settings(Options(engine="hbase"), {})
    alone.check_together([alone.check(name, value)])
    of_a_cluster = Settings(Options(engine="hbase", hbase_groups=4), {})
    with pytest.raises(BadOption, match="cannot be with hbase-groups"):
        of_a_cluster.check_together([of_a_cluster.check(name, value)])
