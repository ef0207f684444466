"""Clients over TLS: as with a redis-server of the same certificates, and changed while they run."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from stratakv.proxy.clients import handshakes
from tests.harness.certificates import make_certificates, openssl
from tests.harness.servers import Process, RedisServer, StartError, StrataServer, free_port
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient

REFUSED = (ssl.SSLError, ConnectionError, EOFError, AssertionError)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def files(authority: Path, tmp_path: Path) -> Path:
    """Certificates that the test may exchange."""
    return Path(shutil.copytree(authority, tmp_path / "files"))


def tls_flags(files: Path, port: int) -> tuple[str, ...]:
    places = ("--tls-port", str(port), "--tls-cert-file", f"{files}/server.pem")
    names = ("--tls-key-file", f"{files}/server.key", "--tls-ca-cert-file", f"{files}/ca.pem")
    return places + names


class Secured:
    """A server of one kind with a TLS port, and clients of it."""

    def __init__(self, kind: str, directory: Path, files: Path, *more: str) -> None:
        self.files = files
        for _ in range(5):
            self.tls_port = free_port()
            flags = (*tls_flags(files, self.tls_port), *more)
            if kind == "redis":
                self.server: Process = RedisServer(directory / kind, flags=flags)
            else:  # which has no port without TLS beside one with it, if none is named
                flags += ("--port", str(free_port()))
                self.server = StrataServer(directory / kind, flags=flags)
            try:
                self.server.start()
                return
            except StartError as error:
                if "already in use" not in str(error):
                    raise
        raise AssertionError("no port is free")

    def context(self, certificate: str = "client") -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=f"{self.files}/ca.pem")
        if certificate:
            mine = self.files / certificate
            context.load_cert_chain(f"{mine}.pem", f"{mine}.key")
        return context

    @contextmanager
    def connected(self, certificate: str = "client", **more: Any) -> Iterator[ssl.SSLSocket]:
        context = self.context(certificate)
        for name, value in more.items():
            setattr(context, name, value)
        with (
            socket.create_connection(("127.0.0.1", self.tls_port), HANG_S) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            yield secure

    def ping(self, certificate: str = "client", **more: Any) -> None:
        """Raises one of REFUSED if that is not answered."""
        with self.connected(certificate, **more) as client:
            client.sendall(b"PING\r\n")
            assert client.recv(100) == b"+PONG\r\n"

    def set(self, *words: str) -> bytes:
        with self.server.client() as client:
            return client.send("CONFIG", "SET", *words).raw


@pytest.fixture(params=["redis", "strata"])
def secured(request: pytest.FixtureRequest, tmp_path: Path, files: Path) -> Iterator[Secured]:
    """Both kinds: what one does, the other does."""
    one = Secured(request.param, tmp_path, files)
    yield one
    one.server.stop()


@pytest.fixture
def strata(tmp_path: Path, files: Path) -> Iterator[Secured]:
    one = Secured("strata", tmp_path, files)
    yield one
    one.server.stop()


def test_clients_show_certificates_or_not(secured: Secured) -> None:
    secured.ping()
    with pytest.raises(REFUSED):
        secured.ping("")
    with pytest.raises(REFUSED):
        secured.ping("unauthenticated")
    for demand in ("no", "optional"):
        assert secured.set("tls-auth-clients", demand) == b"+OK\r\n"
        wait_until(lambda: _answers(secured, ""))
        secured.ping()
    with pytest.raises(REFUSED):  # optional: but what is shown has to be right
        secured.ping("unauthenticated")
    assert secured.set("tls-auth-clients", "yes") == b"+OK\r\n"
    wait_until(lambda: not _answers(secured, ""))
    secured.ping()


def _answers(secured: Secured, certificate: str = "client", **more: Any) -> bool:
    try:
        secured.ping(certificate, **more)
    except REFUSED:
        return False
    return True


def test_versions_and_ciphers_can_be_chosen(secured: Secured) -> None:
    old: dict[str, Any] = {"maximum_version": ssl.TLSVersion.TLSv1_2}
    new: dict[str, Any] = {"minimum_version": ssl.TLSVersion.TLSv1_3}
    secured.ping(**old)
    secured.ping(**new)
    assert secured.set("tls-protocols", "TLSv1.2") == b"+OK\r\n"
    wait_until(lambda: not _answers(secured, **new))
    secured.ping(**old)
    cipher = "ECDHE-RSA-AES128-GCM-SHA256"
    assert secured.set("tls-ciphers", cipher) == b"+OK\r\n"
    wait_until(lambda: _cipher(secured) == cipher)
    refused = secured.set("tls-ciphers", "no such cipher")
    assert b"'tls-ciphers') - Unable to update TLS configuration. Check server logs." in refused
    assert _cipher(secured) == cipher
    assert secured.set("tls-protocols", "") == b"+OK\r\n"
    wait_until(lambda: _answers(secured, **new))


def _cipher(secured: Secured) -> str:
    with secured.connected() as client:
        found = client.cipher()
    return found[0] if found else ""


def test_certificates_change_while_clients_stay(secured: Secured, files: Path) -> None:
    before = _serial(secured)
    other = make_certificates(_directory(files / "other"))
    shutil.copy(other / "ca.pem", files / "all.pem")
    with (files / "all.pem").open("a") as everyone:
        everyone.write((files / "ca.pem").read_text())
    with secured.connected() as client:
        changed = ("tls-cert-file", f"{other}/server.pem", "tls-key-file", f"{other}/server.key")
        assert secured.set(*changed, "tls-ca-cert-file", f"{files}/all.pem") == b"+OK\r\n"
        shutil.copy(files / "all.pem", files / "ca.pem")
        wait_until(lambda: _serial(secured) != before)
        client.sendall(b"PING\r\n")
        assert client.recv(100) == b"+PONG\r\n"


def _directory(path: Path) -> Path:
    path.mkdir()
    return path


def _serial(secured: Secured) -> object:
    with secured.connected() as client:
        certificate = client.getpeercert()
    return certificate and (certificate["serialNumber"], certificate["issuer"])


def test_a_file_that_is_of_no_use_changes_nothing(secured: Secured, files: Path) -> None:
    before = _serial(secured)
    (files / "nonsense.pem").write_text("nothing of the kind")
    for name in ("nonsense.pem", "missing.pem", "client.pem"):  # the last: not of this key
        refused = secured.set("tls-cert-file", f"{files}/{name}", "maxclients", "7")
        assert refused == (
            b"-ERR CONFIG SET failed (possibly related to argument 'tls-cert-file')"
            b" - Unable to update TLS configuration. Check server logs.\r\n"
        )
    assert _serial(secured) == before
    with secured.server.client() as client:
        assert client.send("CONFIG", "GET", "maxclients").frame.blobs()[1] != b"7"
        shown = client.send("CONFIG", "GET", "tls-cert-file").frame.blobs()[1]
    assert shown == f"{files}/server.pem".encode()


def test_a_key_may_have_a_password(secured: Secured, files: Path) -> None:
    hidden = ("rsa", "-in", "server.key", "-aes256", "-passout", "pass:1234", "-out", "hidden.key")
    openssl(files, *hidden)
    refused = secured.set("tls-key-file", f"{files}/hidden.key")
    assert b"Unable to update TLS configuration" in refused
    changed = secured.set("tls-key-file-pass", "1234", "tls-key-file", f"{files}/hidden.key")
    assert changed == b"+OK\r\n"
    secured.ping()


def test_ports_change_places(secured: Secured) -> None:
    plain, secure = secured.server.port, secured.tls_port
    with secured.connected() as admin:
        _ask(admin, f"CONFIG SET tls-port 0 port {secure}\r\n")
        with WireClient(secure) as client:
            assert client.send("PING").raw == b"+PONG\r\n"
        _ask(admin, "CONFIG SET port 0\r\n")
        _ask(admin, f"CONFIG SET tls-port {secure}\r\n")
    secured.ping()
    with pytest.raises(ConnectionRefusedError), WireClient(plain):
        pass


def _ask(client: ssl.SSLSocket, line: str) -> None:
    client.sendall(line.encode())
    assert client.recv(100) == b"+OK\r\n"


def test_a_port_that_is_taken_is_refused(secured: Secured) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for name in ("port", "tls-port"):
            refused = secured.set(name, str(taken.getsockname()[1]))
            assert (
                refused
                == (
                    f"-ERR CONFIG SET failed (possibly related to argument '{name}')"
                    " - Unable to listen on this port. Check server logs.\r\n"
                ).encode()
            )
    secured.ping()
    with secured.server.client() as client:
        assert client.send("PING").raw == b"+PONG\r\n"


def test_nonsense_at_the_tls_port_harms_nobody(secured: Secured) -> None:
    with secured.connected() as bystander:
        for words in (
            b"PING\r\n",
            b"\x16\x03\x01\x02\x00" + os.urandom(600),
            os.urandom(2000),
            b"",
        ):
            with (
                socket.create_connection(("127.0.0.1", secured.tls_port), HANG_S) as client,
                suppress(OSError),
            ):
                client.sendall(words)
                client.shutdown(socket.SHUT_WR)
                while client.recv(1000):
                    pass
        bystander.sendall(b"PING\r\n")
        assert bystander.recv(100) == b"+PONG\r\n"


def test_handshakes_that_never_end_keep_nobody_out(strata: Secured) -> None:
    hello = b"\x16\x03\x01\x02\x00" + b"\x01\x00\x01\xfc\x03\x03"
    with strata.connected() as bystander, ExitStack() as stack:
        stalled = []
        for number in range(2 * handshakes.MOST):
            address = ("127.0.0.1", strata.tls_port)
            one = stack.enter_context(socket.create_connection(address, HANG_S))
            stalled.append(one)
            if number % 2:
                one.sendall(hello)
            if number % 50 == 0:
                strata.ping()
        strata.ping()
        assert stalled[0].recv(100) == b""  # the oldest made room
        bystander.sendall(b"PING\r\n")
        assert bystander.recv(100) == b"+PONG\r\n"
        with strata.server.client() as client:
            shown = client.send("INFO", "clients").raw
            assert b"connected_clients:2\r\n" in shown


def test_a_certificate_whose_time_is_over_is_refused(strata: Secured, files: Path) -> None:
    signed = ("x509", "-req", "-in", "client.csr", "-CA", "ca.pem", "-CAkey", "ca.key")
    openssl(files, *signed, "-CAcreateserial", "-days", "-1", "-out", "client.pem")
    with pytest.raises(REFUSED):
        strata.ping()


def test_files_are_read_again_at_a_hangup(strata: Secured, files: Path) -> None:
    before = _serial(strata)
    other = make_certificates(_directory(files / "other"))
    with strata.connected() as client:
        for name in ("server.pem", "server.key", "ca.pem", "client.pem", "client.key"):
            shutil.copy(other / name, files / name)
        assert strata.server.process is not None
        strata.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: _answers(strata) and _serial(strata) != before)
        (files / "server.key").write_text("gone")
        strata.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "TLS stays as it was: tls-key-file" in strata.server.output())
        client.sendall(b"PING\r\n")
        assert client.recv(100) == b"+PONG\r\n"
    strata.ping()


def test_values_of_every_size_arrive_whole(strata: Secured) -> None:
    files = strata.files
    client = redis.Redis(
        "127.0.0.1",
        port=strata.tls_port,
        ssl=True,
        ssl_ca_certs=f"{files}/ca.pem",
        ssl_certfile=f"{files}/client.pem",
        ssl_keyfile=f"{files}/client.key",
    )
    values = {f"key:{size}": os.urandom(size) for size in (0, 1, 16_384, 70_000, 12_000_000)}
    with client, client.pipeline(transaction=False) as pipeline:
        for name, value in values.items():
            pipeline.set(name, value)
        pipeline.execute()
        for name in values:
            pipeline.get(name)
        assert pipeline.execute() == list(values.values())
        with client.pubsub() as listener:  # type: ignore[no-untyped-call]
            listener.subscribe("news")
            assert listener.get_message(timeout=HANG_S)
            client.publish("news", "hot")
            message = listener.get_message(timeout=HANG_S)
        assert message is not None
        assert message["data"] == b"hot"


def test_redis_cli_and_redis_benchmark_speak_tls(strata: Secured) -> None:
    files = strata.files
    names = ("--cacert", f"{files}/ca.pem", "--cert", f"{files}/client.pem")
    flags = ("-p", str(strata.tls_port), "--tls", *names, "--key", f"{files}/client.key")
    for words, expected in (
        (["redis-cli", *flags, "SET", "greeting", "hello"], "OK"),
        (["redis-cli", *flags, "GET", "greeting"], "hello"),
        (["redis-benchmark", *flags, "-n", "2000", "-P", "16", "-t", "set,get", "-q"], "GET: "),
    ):
        done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=True)
        assert expected in done.stdout


def test_a_certificate_names_the_user(tmp_path: Path, files: Path) -> None:
    strata = Secured("strata", tmp_path, files, "--tls-auth-clients-user", "CN")
    assert strata.set("requirepass", "secret") == b"+OK\r\n"
    with strata.connected() as client:  # there is no such user yet: it is nobody
        client.sendall(b"ACL WHOAMI\r\n")
        assert client.recv(100).startswith(b"-NOAUTH")
    with strata.server.client() as admin:
        admin.send("AUTH", "secret")
        assert admin.send("ACL", "SETUSER", "client", "on", "+@read", "+acl|whoami", "~*").raw == (
            b"+OK\r\n"
        )
        with strata.connected() as client:
            client.sendall(b"ACL WHOAMI\r\n")
            assert client.recv(100) == b"$6\r\nclient\r\n"
            client.sendall(b"SET key value\r\n")
            assert client.recv(100).startswith(b"-NOPERM")
        admin.send("ACL", "SETUSER", "client", "off")
        with strata.connected() as client:
            client.sendall(b"PING\r\n")
            assert client.recv(100).startswith(b"-NOAUTH")
    strata.server.stop()


def test_the_http_port_over_tls(tmp_path: Path, files: Path) -> None:
    strata = Secured("strata", tmp_path, files, "--http-tls", "yes")
    assert isinstance(strata.server, StrataServer)
    page = f"https://127.0.0.1:{strata.server.http_port}/healthz"
    with urllib.request.urlopen(page, timeout=HANG_S, context=strata.context("")) as answer:
        assert answer.read() == b"ok\n"
    strata.server.stop()


@pytest.mark.parametrize("kind", ["redis", "strata"])
def test_a_master_is_followed_with_tls_replication(kind: str, tmp_path: Path, files: Path) -> None:
    master = Secured(kind, tmp_path, files)
    flags = ("--tls-replication", "yes", "--replicaof", f"127.0.0.1 {master.tls_port}")
    replica = Secured("strata", tmp_path / "replica", files, *flags)
    with master.server.client() as writer, replica.server.client() as reader:
        writer.send("SET", "key", "value")
        wait_until(lambda: reader.send("GET", "key").raw == b"$5\r\nvalue\r\n")
        told = writer.send("INFO", "replication").raw
        assert f"port={replica.tls_port},state=".encode() in told
    replica.server.stop()
    master.server.stop()


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--tls-port", "1"), "tls-cert-file = '': is needed for TLS"),
        (("--tls-port", "1", "--tls-cert-file", "/nowhere"), "No such file or directory"),
        (("--http-tls", "yes"), "tls-cert-file = '': is needed for TLS"),
        (("--tls-protocols", "TLSv1.1 TLSv1.3"), "tls-protocols = 'TLSv1.1 TLSv1.3'"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(
    tmp_path: Path, flags: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(StartError, match=reason.replace("(", r"\(")):
        StrataServer(tmp_path / "data", flags=flags).start()


def test_an_authority_is_needed_to_judge_certificates(tmp_path: Path, files: Path) -> None:
    flags: tuple[str, ...] = ("--tls-port", "1", "--tls-cert-file", f"{files}/server.pem")
    flags += ("--tls-key-file", f"{files}/server.key")
    with pytest.raises(StartError, match="is needed while tls-auth-clients is yes"):
        StrataServer(tmp_path / "data", flags=flags).start()


def test_addresses_that_may_be_missing(tmp_path: Path) -> None:
    """As in redis.conf: `bind 127.0.0.1 -::1`, where there may be no IPv6."""
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        assert client.send("CONFIG", "SET", "bind", "127.0.0.1 -2001:db8::1").raw == b"+OK\r\n"
        with server.client() as other:
            assert other.send("PING").raw == b"+PONG\r\n"
        assert client.send("CONFIG", "SET", "bind", "127.0.0.1 127.0.0.3").raw == b"+OK\r\n"
        with WireClient(server.port, host="127.0.0.3") as other:
            assert other.send("PING").raw == b"+PONG\r\n"
        refused = client.send("CONFIG", "SET", "bind", "127.0.0.1 2001:db8::1").raw
        assert b"'bind') - Failed to bind to specified addresses." in refused
    server.stop()
