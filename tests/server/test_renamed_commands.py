"""`rename-command`: the same renamings in a Redis and in a StrataKV, and what each then says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.access.pairs import Two
from tests.harness.servers import RedisServer, StartError, StrataServer
from tests.harness.waiting import wait_until

RENAMES = {"CONFIG": "cfg", "EVAL": "", "set": "Put", "MULTI": "begin", "Sort": "arrange"}
RENAMES |= {"get": "multi", "auth": "login", "ACL": "rights"}


def _start(directory: Path, text: str) -> StrataServer:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "stratakv.toml"
    file.write_text(text)
    return StrataServer(directory / "strata", ("--config", str(file))).start()


def _table(renames: dict[str, str]) -> str:
    return "[rename-command]\n" + "".join(f'{old} = "{new}"\n' for old, new in renames.items())


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, StrataServer]]:
    directory = tmp_path_factory.mktemp("renamed")
    flags = [word for pair in RENAMES.items() for word in ("--rename-command", *pair)]
    redis = RedisServer(directory / "redis", flags).start()
    strata = _start(directory, _table(RENAMES))
    yield redis, strata
    strata.stop()
    redis.stop()


@pytest.fixture
def two(servers: tuple[RedisServer, StrataServer], protocol: int) -> Iterator[Two]:
    both = Two(*(server.client(protocol) for server in servers))
    both.same("FLUSHALL")
    yield both
    both.close()


def test_a_command_answers_to_its_new_name_alone(two: Two) -> None:
    two.same_lines("""
SET a 1
put a 1
PUT a 2
pUt a
Put a 3 nx
GET a
get a
CONFIG GET port
CONFIG
cfg
cfg get
CFG nope
cfg set timeout 0
EVAL return_1 0
eval
cfg|get port""")


def test_rights_and_descriptions_go_by_the_old_name(two: Two) -> None:
    two.same_lines("""
rights SETUSER u on nopass ~* +set
rights SETUSER u +put
rights SETUSER u -config|get
rights SETUSER u +cfg|get
ACL WHOAMI
rights DRYRUN default set a 1
rights DRYRUN default put a 1
rights DRYRUN u put a 1
rights DRYRUN u multi a
login u x
Put a 1
multi a
arrange a
LOGIN default x
COMMAND GETKEYS set a 1
COMMAND GETKEYS put a 1
COMMAND GETKEYS multi a
COMMAND INFO set
LATENCY HISTOGRAM set
rights DELUSER u""")
    for name in ("put", "cfg", "cfg|get", "config|get"):
        redis, strata = two.send("COMMAND", "INFO", name)
        assert _names(redis.raw) == _names(strata.raw), name
    assert two.strata.send("COMMAND", "DOCS", "put").frame.elements[0].data == b"set"
    assert two.strata.send("LATENCY", "HISTOGRAM", "put").frame.elements[0].data == b"set"
    listed = two.strata.send("COMMAND", "LIST").frame.blobs()
    assert b"set" in listed
    assert b"eval" not in listed
    assert b"cmdstat_set:" in two.strata.send("INFO", "commandstats").raw


def _names(raw: bytes) -> list[bytes]:
    """Name and arity out of a reply of COMMAND INFO."""
    return raw.split(b"\r\n")[:4]


def test_transactions_and_scripts_know_the_new_names(two: Two) -> None:
    script = two.strata.send("SCRIPT", "LOAD", "return redis.call('put', KEYS[1], 'x')").frame.data
    two.same("SCRIPT", "LOAD", "return redis.call('put', KEYS[1], 'x')")
    old = two.strata.send("SCRIPT", "LOAD", "return redis.pcall('SET', KEYS[1], 'x').err").frame
    two.same("SCRIPT", "LOAD", "return redis.pcall('SET', KEYS[1], 'x').err")
    assert script is not None
    assert old.data is not None
    two.same("EVALSHA", script, 1, "k")
    two.same("EVALSHA", old.data, 1, "k")
    two.same_lines("""
begin
put a 1
multi a
EXEC
begin
set a 1
EXEC
RPUSH l 3 1 2
arrange l BY nosort GET #
SORT l""")


def test_passwords_of_a_renamed_command_are_hidden(two: Two) -> None:
    two.same("cfg", "SET", "slowlog-log-slower-than", "0")
    two.same("login", "default", "secret-word")
    two.same("rights", "SETUSER", "someone", ">secret-word")
    two.same("CFG", "SET", "masterauth", "secret-word", "slowlog-log-slower-than", "-1")
    two.same("cfg", "SET", "masterauth", "")
    shown = two.strata.send("SLOWLOG", "GET").raw.lower()
    assert b"login" in shown
    assert b"rights" in shown
    assert b"secret-word" not in shown


def test_replicas_hear_commands_as_they_were_sent(tmp_path: Path) -> None:
    """A replica with the same names obeys; as with Redis, one without them does not know them."""
    renames = _table({"set": "put"})
    master = _start(tmp_path / "master", renames)
    follows = f'replicaof = "127.0.0.1 {master.port}"\n'
    replica = _start(tmp_path / "replica", follows + renames)
    try:
        with master.client() as writer, replica.client() as reader:
            writer.send("put", "a", "1")
            wait_until(lambda: reader.send("GET", "a").raw == b"$1\r\n1\r\n", "never replicated")
    finally:
        replica.stop()
        master.stop()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[rename-command]\nnope = "x"\n', "No such command in rename-command"),
        ('[rename-command]\nget = "set"\n', "Target command name already exists"),
        ('[rename-command]\n"config|get" = "x"\n', "No such command in rename-command"),
        ('[rename-command]\nget = "x"\nGET = "y"\n', "No such command in rename-command"),
        ("[rename-command]\nget = 1\n", "must be a table of commands and their new names"),
        ('rename-command = "get x"\n', "must be a table of commands and their new names"),
    ],
)
def test_what_cannot_be_renamed_is_refused_at_the_start(
    text: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(StartError, match=reason):
        _start(tmp_path, text)
    assert not (tmp_path / "strata" / "CURRENT").exists()


def test_a_rewritten_file_keeps_its_renamings(tmp_path: Path) -> None:
    server = _start(tmp_path, _table({"CONFIG": "cfg", "FLUSHALL": ""}))
    try:
        with server.client() as client:
            client.send("cfg", "SET", "timeout", "7")
            assert client.send("cfg", "REWRITE").raw == b"+OK\r\n"
        server.restart()
        with server.client() as client:
            assert client.send("cfg", "GET", "timeout").frame.blobs() == [b"timeout", b"7"]
            assert client.send("FLUSHALL").frame.is_error
    finally:
        server.stop()
