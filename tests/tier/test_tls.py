"""rediss://: the tier over TLS, with certificates made by openssl for the test."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.storage.cache.address import parse_address
from tests.harness.certificates import make_certificates
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.tier.ledger import Ledger
from tests.tier.servers import wait_until_used
from tests.tier.test_faults import _info, cut


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


class TlsRedis(RedisServer):
    """One that listens for TLS on the port after its own, and wants to see a certificate."""

    @property
    def tls_port(self) -> int:
        return self.port + 1

    def _argv(self) -> list[str]:
        return [*RedisServer._argv(self), "--tls-port", str(self.tls_port)]


@pytest.fixture(scope="module")
def tier(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsRedis]:
    flags: tuple[str, ...] = ("--tls-cert-file", f"{certificates}/server.pem")
    flags += ("--tls-key-file", f"{certificates}/server.key")
    flags += ("--tls-ca-cert-file", f"{certificates}/ca.pem", "--requirepass", "")
    server = TlsRedis(tmp_path_factory.mktemp("tier") / "redis", flags=flags).start()
    yield server
    server.stop()


def url(tier: TlsRedis, certificates: Path, ca: str = "ca", *, shown: bool = True) -> str:
    files = f"ca={certificates}/{ca}.pem"
    if shown:
        files += f"&cert={certificates}/client.pem&key={certificates}/client.key"
    return f"rediss://127.0.0.1:{tier.tls_port}/0?{files}"


def test_the_tier_works_over_tls(tier: TlsRedis, certificates: Path, tmp_path: Path) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        _speak_without_certificate(tier, certificates)
    flags = ("--cache-url", url(tier, certificates), "--hash-encoding", "2", "--set-encoding", "2")
    strata = StrataServer(tmp_path / "strata", flags=(*flags, "--zset-encoding", "2")).start()
    wait_until_used(strata)
    try:
        with Ledger(strata):
            for _ in range(3):
                cut(tier, strata)
                wait_until_used(strata)
                time.sleep(0.3)
        info = _info(strata)
        assert info["tier_address"].startswith("rediss://127.0.0.1:")
        assert "certificates" not in info["tier_address"]
        assert int(info["cache_hget"].split("hits=")[1].split(",")[0]) > 0
    finally:
        strata.stop()


def _speak_without_certificate(tier: TlsRedis, certificates: Path) -> None:
    context = ssl.create_default_context(cafile=f"{certificates}/ca.pem")
    with (
        socket.create_connection(("127.0.0.1", tier.tls_port), timeout=HANG_S) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as wrapped,
    ):
        wrapped.sendall(b"PING\r\n")
        if not wrapped.recv(100):
            raise ConnectionError


@pytest.mark.parametrize(
    ("ca", "shown", "reason"),
    [
        ("unauthenticated", True, "CERTIFICATE_VERIFY_FAILED"),
        ("nosuch", True, "No such file"),
        ("ca", False, ""),
    ],
)
def test_what_is_not_trusted_is_bypassed_with_the_reason(
    ca: str, shown: bool, reason: str, tier: TlsRedis, certificates: Path, tmp_path: Path
) -> None:
    flags = ("--cache-url", url(tier, certificates, ca, shown=shown), "--hash-encoding", "2")
    strata = StrataServer(tmp_path / "strata", flags=flags).start()
    try:
        wait_until(lambda: _info(strata)["tier_reason"] not in ("", "not connected yet"))
        info = _info(strata)
        assert reason in info["tier_reason"]
        assert info["tier_usable"] == "0"
        with strata.client() as client:
            client.send("HSET", "h", "f", "1")
            assert client.send("HGET", "h", "f").frame.data == b"1"
    finally:
        strata.stop()


def test_files_belong_to_tls_addresses() -> None:
    place = parse_address("rediss://h?ca=/a%20b.pem&db=2")
    assert (place.ca, place.database, place.tls) == ("/a b.pem", 2, True)
    assert "a b" not in str(place)
    with pytest.raises(ValueError):  # whatever the text
        parse_address("redis://h?ca=/a.pem")


def test_a_master_is_followed_over_tls(tier: TlsRedis, certificates: Path, tmp_path: Path) -> None:
    flags = ("--replicaof", url(tier, certificates))
    server = StrataServer(tmp_path / "replica", flags=flags).start()
    with tier.client() as master, server.client() as client:
        master.send("SET", "told", "in secret")
        wait_until(lambda: client.send("GET", "told").raw == b"$9\r\nin secret\r\n", server.output)
        wait_until(lambda: b":up\r\n" in client.send("INFO", "replication").raw, server.output)
    server.stop()
