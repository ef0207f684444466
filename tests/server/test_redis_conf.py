"""redis.conf: what it says to a redis-server it says to us, or we say why not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stratakv import options
from stratakv.options import BadOption, Given
from stratakv.proxy import commands  # noqa: F401  # rules of users name commands
from stratakv.proxy.config import conf_lines, redis_conf
from stratakv.proxy.config.conf_names import FACTS_WHY, UNUSED
from stratakv.proxy.config.conf_rewrite import rewritten
from tests.harness.servers import STRATAKV, RedisServer, StrataServer, environment, free_port
from tests.harness.waiting import HANG_S
from tests.harness.wire import WireClient
from tests.server.redis_launcher import Launched

SAME = r"""
# what both follow
timeout 907
TCP-KeepAlive 60
maxclients 77
	slave-priority 33
hash-max-ziplist-entries 11
hash-max-ziplist-value 1kb
zset-max-listpack-value "32"
proto-max-bulk-len 2mb
client-query-buffer-limit 2M
repl-backlog-size 3k
client-output-buffer-limit normal 1mb 512kb 7
client-output-buffer-limit pubsub 5mb 2mb 9
client-output-buffer-limit replica 0 0 0
notify-keyspace-events "Kg$"
slowlog-log-slower-than -1
slowlog-max-len 5
lua-time-limit 300
latency-tracking-info-percentiles 10 50 99.5

masterauth 'it\'s "quoted" \x41'
masteruser "tab\there \x41\"q\""
acllog-max-len 3
min-slaves-max-lag 4
appendonly yes
appendfsync always
loglevel verbose
repl-ping-slave-period 5
acl-pubsub-default allchannels
requirepass "pass \x20 word"
user default on nopass ~* &* +@all
user carol on >secret ~a* %R~b* resetchannels &c* -@all +get (~x +@write)
include more/*.conf
include none/*.conf
"""


def conf(directory: Path, text: str) -> Path:
    file = directory / "redis.conf"
    file.write_text(text)
    return file


def read(directory: Path, text: str) -> Given:
    return redis_conf.read(conf(directory, text))


def settings(client: WireClient) -> dict[bytes, bytes]:
    pairs = client.send("CONFIG", "GET", "*").frame.pairs()
    return {name.data or b"": value.data or b"" for name, value in pairs}


def test_a_file_means_the_same_to_redis_and_to_us(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "one.conf").write_text("busy-reply-threshold 400\ntimeout 908\n")
    file = conf(tmp_path, SAME.replace("include ", f"include {tmp_path}/"))
    redis = RedisServer(tmp_path / "redis")
    own = Launched(tmp_path / "own", words=[str(file)])
    redis.port = free_port()
    argv = ["redis-server", str(file), "--port", str(redis.port), "--dir", str(redis.dir)]
    redis._spawn(argv, environment())
    own.start()
    assert redis._answers()
    with redis.client() as theirs, own.client() as ours:
        for command in (["ACL", "LIST"], ["ACL", "GETUSER", "carol"]):
            assert ours.send(*command).raw == theirs.send(*command).raw
        shared = settings(theirs).keys() & settings(ours).keys()
        named = {line.split()[0].lower().encode() for line in SAME.splitlines() if line.strip()}
        wanted = {name: settings(theirs)[name] for name in named & shared}
        assert len(wanted) > 20
        assert {name: settings(ours)[name] for name in wanted} == wanted
        assert settings(ours)[b"timeout"] == b"908"
    redis.stop()
    own.stop()


def test_every_default_of_redis_can_stand_in_a_file(tmp_path: Path, redis_wire: WireClient) -> None:
    """As CONFIG REWRITE or a generator writes them; only the hidden ones are missing."""
    skipped = {"dir", "save", "unixsocketperm", "slaveof", "replicaof"}
    lines = [
        f'{name.decode()} "{value.decode()}"'
        for name, value in settings(redis_wire).items()
        if name.decode() not in skipped
    ]
    assert len(lines) > 180
    given = read(tmp_path, "\n".join(lines))
    told = " ".join(given.notes)
    assert given.notes == () or given.notes[0].startswith("repl-diskless-"), told
    assert len(given.notes) <= 1, told


def test_what_a_server_here_obeys_is_not_passed_over(tmp_path: Path) -> None:
    own = {name.replace("_", "-") for name in options.declared()}
    assert own.isdisjoint({*UNUSED, *FACTS_WHY})
    assert read(tmp_path, "cluster-node-timeout 15000").texts["cluster-node-timeout"][0] == "15000"


@pytest.mark.parametrize("file", sorted(Path("/etc/redis").glob("*.conf")), ids=str)
def test_the_file_of_the_system_starts_us(file: Path, tmp_path: Path) -> None:
    copied = tmp_path / "redis.conf"
    try:
        shutil.copy(file, copied)
    except PermissionError:
        pytest.skip("not ours to read")
    (tmp_path / "run").mkdir()
    words = [str(copied), "--daemonize", "no", "--supervised", "no", "--logfile", ""]
    own = Launched(tmp_path / "data", words=[*words, "--pidfile", str(tmp_path / "run" / "pid")])
    with own.start().client() as client:
        assert client.send("CONFIG", "GET", "bind").frame.blobs()[1] == b"127.0.0.1 -::1"
        assert client.send("SET", "k", "v").raw == b"+OK\r\n"
    own.stop()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("cluster-enabled yes", "takes all slots"),
        ("loadmodule /usr/lib/bloom.so", "no modules"),
        ("bf.error-rate 0.1", "no modules"),
        ("rename-command NOSUCH ''", "No such command in rename-command"),
        ("rename-command GET set", "Target command name already exists"),
        ("rename-command GET", "Bad directive"),
        ("tls-ciphersuites TLS_AES_128_GCM_SHA256", "others would be accepted"),
        ("sentinel monitor m 127.0.0.1 6379 2", "no Sentinel"),
        ("nosuch yes", "Bad directive or wrong number of arguments"),
        ("port", "wrong number of arguments"),
        ("port 1 2", "wrong number of arguments"),
        ("port 65536", "argument must be between 0 and 65535 inclusive"),
        ("maxmemory lots", "argument must be a memory value"),
        ("appendonly maybe", "argument must be 'yes' or 'no'"),
        ("save 900", "Invalid save parameters"),
        ("timeout 'open", "Unbalanced quotes"),
        ("replicaof localhost port", "Invalid master port"),
        ("dir /nowhere/at/all", "No such file or directory"),
        ("include /nowhere.conf", "cannot be read: No such file"),
        ("user", "Bad directive"),
        ("user carol on +nosuch", "Unknown command"),
        ("client-output-buffer-limit normal 1 2", "Wrong number of arguments in buffer limit"),
        ("notify-keyspace-events Q", "Invalid event class"),
        ("shutdown-on-sigterm never", "must be one of the following"),
        ("databases 0", "must be a whole number from 1"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_place(
    line: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(BadOption) as refused:
        read(tmp_path, f"# first\ntimeout 1\n{line}\n")
    text = str(refused.value)
    assert text.startswith(f"{tmp_path}/redis.conf, line 3: '{line.split()[0]}")
    assert reason in text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("requirepas s3cret", "requirepas"),
        ("requirepass s3cret s3cret", "requirepass"),
        ("user carol >s3cret +nosuch", "user"),
        ("requirepass 's3cret", "requirepass"),
    ],
)
def test_no_message_holds_a_secret(line: str, shown: str, tmp_path: Path) -> None:
    with pytest.raises(BadOption) as refused:
        read(tmp_path, line)
    assert "s3cret" not in str(refused.value)
    assert f"'{shown}" in str(refused.value)


def test_commands_are_renamed_as_in_redis(tmp_path: Path) -> None:
    text = "rename-command FLUSHALL ''\nrename-command Config cfg\nRENAME-COMMAND get config\n"
    own = Launched(tmp_path / "data", words=[str(conf(tmp_path, text))]).start()
    with own.client() as client:
        assert client.send("FLUSHALL").raw.startswith(b"-ERR unknown command")
        assert client.send("CFG", "GET", "timeout").frame.blobs() == [b"timeout", b"0"]
        assert client.send("CONFIG", "nokey").raw == b"$-1\r\n"
        assert client.send("CFG", "SET", "timeout", "903").raw == b"+OK\r\n"
        assert client.send("CFG", "REWRITE").raw == b"+OK\r\n"
    own.stop()
    assert (tmp_path / "redis.conf").read_text().startswith(text)


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="files include each other"):
        read(tmp_path, f"include {tmp_path}/redis.conf\n")


def test_two_lines_of_one_user_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="Duplicate user 'a'"):
        read(tmp_path, "user a on\nuser b on\nuser a off\n")


def test_what_has_no_effect_is_told_once_with_the_reason(tmp_path: Path) -> None:
    text = "activedefrag yes\njemalloc-bg-thread no\nhz 100\nio-threads 4\nsyslog-enabled yes\n"
    given = read(tmp_path, text)
    file = f"{tmp_path}/redis.conf"
    assert [note.partition(":")[0] for note in given.notes] == [
        f"activedefrag yes ({file}, line 1), jemalloc-bg-thread no ({file}, line 2)",
        f"hz 100 ({file}, line 3)",
        f"io-threads 4 ({file}, line 4)",
        f"syslog-enabled yes ({file}, line 5)",
    ]
    assert "no heap to defragment" in given.notes[0]
    assert "one thread" in given.notes[2]


def test_each_line_of_save_points_adds_to_those_before(tmp_path: Path) -> None:
    assert read(tmp_path, "save 900 1\nsave 60 5 30 10\n").texts["save"][0] == "900 1 60 5 30 10"
    assert read(tmp_path, 'save 900 1\nsave ""\n').texts["save"][0] == ""
    assert read(tmp_path, 'save 900 1\nsave ""\nsave 1 2\n').texts["save"][0] == "1 2"


def test_the_directory_is_entered_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "more.conf").write_text("timeout 909\n")
    given = read(tmp_path, f"dir {tmp_path}/in\ninclude more.conf\n")
    assert given.texts["dir"][0] == f"{tmp_path}/in"
    assert given.texts["timeout"] == ("909", f"{tmp_path}/in/more.conf, line 1")


def test_flags_win_over_variables_and_those_over_the_file(tmp_path: Path) -> None:
    given = read(tmp_path, "timeout 901\nmaxclients 1\ntcp-keepalive 1\nport 0\n")
    variables = {"STRATAKV_TIMEOUT": "2", "STRATAKV_MAXCLIENTS": "2"}
    chosen = options.load({"timeout": "903"}, variables, None, given)
    assert (chosen.timeout, chosen.maxclients, chosen.tcp_keepalive) == (903, 2, 1)


def test_what_a_file_does_not_say_is_as_in_redis(tmp_path: Path) -> None:
    chosen = options.load({}, {}, None, read(tmp_path, ""))
    assert (chosen.port, chosen.bind, chosen.dir) == (6379, ("*", "-::*"), str(Path.cwd()))
    assert chosen.client_output_buffer_limit.startswith("normal 0 0 0 ")
    assert chosen.enable_debug_command == "no"


def test_serve_takes_a_redis_conf_and_paths_are_seen_from_its_directory(tmp_path: Path) -> None:
    file = conf(tmp_path, "logfile log\nunixsocket sock\ntimeout 905\nappendonly yes\nhz 50\n")
    server = StrataServer(tmp_path / "data", flags=[str(file), "--port", str(free_port())]).start()
    with server.client() as client:
        assert client.send("CONFIG", "GET", "durability").frame.blobs()[1] == b"everysec"
        assert client.send("CONFIG", "GET", "timeout").frame.blobs()[1] == b"905"
        client.send("SET", "k", "v")
    assert (tmp_path / "data" / "sock").is_socket()
    assert "hz 50" in (tmp_path / "data" / "log").read_text()
    server.restart()
    with server.client() as client:
        assert client.send("GET", "k").raw == b"$1\r\nv\r\n"
    server.stop()


def test_serve_names_the_line_that_it_refuses(tmp_path: Path) -> None:
    file = conf(tmp_path, "timeout 905\ncluster-enabled yes\n")
    ended = subprocess.run(
        [*STRATAKV, "serve", str(file)],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        env=environment(),
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"stratakv: {file}, line 2: 'cluster-enabled yes': a StrataKV")
    assert ended.stderr.count("\n") == 1


# CONFIG REWRITE

REWRITTEN = """\
# head
timeout 901
  # indented

slave-priority 5
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit pubsub 1 1 1
# tail
"""


def test_a_rewritten_file_keeps_comments_and_order() -> None:
    limits = "normal 1 2 3 slave 4 5 6 pubsub 7 8 9"
    values = {"replica-priority": "6", "client-output-buffer-limit": limits, "requirepass": 'a" b'}
    assert rewritten(REWRITTEN, values) == (
        "# head\ntimeout 901\n  # indented\n\nreplica-priority 6\n"
        "client-output-buffer-limit normal 1 2 3\nclient-output-buffer-limit slave 4 5 6\n# tail\n"
        "# Generated by CONFIG REWRITE\nclient-output-buffer-limit pubsub 7 8 9\n"
        'requirepass "a\\" b"\n'
    )
    once = rewritten(REWRITTEN, values)
    assert rewritten(once, values) == once


def test_words_are_written_so_that_they_read_the_same(tmp_path: Path) -> None:
    for word in ("", "a b", 'q"', "back\\slash", "\x00\x1f\x7f", "ü\udcff", "#x", "'", "\\x41"):
        line = conf_lines.written_as("requirepass", [word])
        given = redis_conf.read_text(line, tmp_path / "x", tmp_path)
        assert given.texts["requirepass"][0] == word, line


def test_rewrite_and_restart_give_back_what_was_set(tmp_path: Path) -> None:
    file = conf(
        tmp_path, "# mine\ntimeout 901\nhash-max-ziplist-entries 7\nuser old on nopass +@all\n"
    )
    own = Launched(tmp_path / "data", words=[str(file)]).start()
    changes = {
        "timeout": "904",
        "hash-max-listpack-entries": "9",
        "appendonly": "yes",
        "appendfsync": "always",
        "loglevel": "debug",
        "notify-keyspace-events": "AKE",
        "latency-tracking-info-percentiles": "1 2",
        "maxclients": "99",
        "masterauth": ' "\\',
    }
    with own.client() as client:
        words = [word for pair in changes.items() for word in pair]
        assert client.send("CONFIG", "SET", *words).raw == b"+OK\r\n"
        client.send("ACL", "SETUSER", "new", "on", ">pw", "~k*", "+get", "(~x", "+set)")
        client.send("ACL", "SETUSER", "default", "sanitize-payload")
        client.send("ACL", "DELUSER", "old")
        assert client.send("CONFIG", "REWRITE").raw == b"+OK\r\n"
        before, users = settings(client), client.send("ACL", "LIST").raw
    text = file.read_text()
    assert text.startswith("# mine\ntimeout 904\nhash-max-listpack-entries 9\nuser default on ")
    assert "user old" not in text
    own.stop()
    own.start()
    with own.client() as client:
        assert (settings(client), client.send("ACL", "LIST").raw) == (before, users)
    own.stop()


def test_all_settings_in_a_file_start_the_same_server(tmp_path: Path) -> None:
    file = conf(tmp_path, "enable-debug-command yes\n")
    own = Launched(tmp_path / "data", words=[str(file)]).start()
    with own.client() as client:
        before = settings(client)
        assert client.send("DEBUG", "CONFIG-REWRITE-FORCE-ALL").raw == b"+OK\r\n"
    assert len(file.read_text().splitlines()) > 100
    own.stop()
    own.start()
    with own.client() as client:
        assert settings(client) == before
    own.stop()


def test_what_another_file_says_as_well_is_not_rewritten(tmp_path: Path) -> None:
    (tmp_path / "late.conf").write_text("user carol on nopass ~* +@all\n")
    text = f"include {tmp_path}/late.conf\n"
    own = Launched(tmp_path / "data", words=[str(conf(tmp_path, text))]).start()
    with own.client() as client:
        client.send("ACL", "SETUSER", "carol", "off")
        refused = client.send("CONFIG", "REWRITE").raw
    own.stop()
    assert refused.startswith(b"-ERR Rewriting config file: ")
    assert b"Duplicate user 'carol'" in refused
    assert (tmp_path / "redis.conf").read_text() == text


@pytest.mark.slow
def test_a_kill_while_rewriting_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    filler = "".join(f"# line {number} of a long file\n" for number in range(20_000))
    file = conf(tmp_path, f"{filler}timeout 901\n")
    texts = {f"{filler}timeout {seconds}\n" for seconds in (901, 902)}
    for round_ in range(5):
        own = Launched(tmp_path / f"data{round_}", words=[str(file)]).start()
        with own.client() as client:
            for seconds in (901, 902, 901, 902):
                client.send("CONFIG", "SET", "timeout", str(seconds))
                assert client.send("CONFIG", "REWRITE").raw == b"+OK\r\n"
            lines = [("CONFIG", "SET", "timeout", "901"), ("CONFIG", "REWRITE")] * 2
            client.write(b"".join(b"%b\r\n" % " ".join(line).encode() for line in lines))
            own.kill9()
        assert file.read_text() in texts


@pytest.mark.parametrize("kind", ["redis", "strata"])
@pytest.mark.parametrize("allowed", ["no", "yes", "local"])
def test_the_file_of_dumps_is_chosen_by_whom_the_file_lets(
    kind: str, allowed: str, tmp_path: Path
) -> None:
    flags = ("--enable-protected-configs", allowed)
    make = {"redis": RedisServer, "strata": StrataServer}[kind]
    server = make(tmp_path / "data", flags=flags).start()
    with server.client() as client:
        reply = client.send("CONFIG", "SET", "dbfilename", "other.rdb").raw
        if allowed == "no":
            assert b"can't set protected config" in reply
        else:
            assert reply == b"+OK\r\n"
            client.send("SET", "k", "v")
            assert client.send("SAVE").raw == b"+OK\r\n"
            assert (server.dir / "other.rdb").exists()
            refused = client.send("CONFIG", "SET", "dbfilename", "../x").raw
            assert b"dbfilename can't be a path, just a filename" in refused
        assert b"immutable" in client.send("CONFIG", "SET", "enable-protected-configs", "yes").raw
        if kind == "strata":
            assert client.send("CONFIG", "SET", "dir", "/").raw.startswith(b"-ERR ")
    server.stop()
