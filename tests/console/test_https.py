"""HTTPS for browsers and TLS to the server, with certificates of an authority of our own."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.running import ConsoleProcess
from tests.harness import browser as browsers
from tests.harness.browser import Browser
from tests.harness.certificates import make_certificates
from tests.harness.servers import StrataServer, free_port
from tests.harness.waiting import wait_until


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def strata(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    """Clients and metrics over TLS alone; whoever connects shows a certificate."""
    keys = ("--tls-cert-file", f"{files}/server.pem", "--tls-key-file", f"{files}/server.key")
    tls = (*keys, "--tls-ca-cert-file", f"{files}/ca.pem", "--http-tls", "yes")
    flags = ("--tls-port", str(free_port()), "--requirepass", "secret", *tls)
    place = tmp_path_factory.mktemp("strata") / "data"
    server = StrataServer(place, flags=(*flags, "--port", str(free_port())))
    yield server.start()
    server.stop()


def url_of(server: StrataServer, files: Path, authority: str = "ca.pem") -> str:
    port = server.flags[server.flags.index("--tls-port") + 1]
    mine = f"cert={files}/client.pem&key={files}/client.key"
    return f"rediss://:secret@127.0.0.1:{port}?ca={files}/{authority}&{mine}"


def flags_of(server: StrataServer, files: Path) -> list[str]:
    keys = ["--tls-cert-file", f"{files}/server.pem", "--tls-key-file", f"{files}/server.key"]
    return [*keys, "--metrics-url", f"https://127.0.0.1:{server.http_port}/metrics"]


@pytest.fixture(scope="module")
def console(
    strata: StrataServer, files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    """Its address of the server comes from the environment."""
    env = {"STRATAKV_CONSOLE_URL": url_of(strata, files)}
    place = tmp_path_factory.mktemp("console") / "console"
    started = ConsoleProcess(place, flags=flags_of(strata, files), env=env).start()
    assert "ready https://" in started.output()
    yield started
    assert "Traceback" not in started.output()
    assert "secret" not in started.output()
    started.stop()


@pytest.fixture(scope="module")
def trust(files: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=f"{files}/ca.pem")


def test_the_cookie_goes_over_https_alone(console: ConsoleProcess, trust: ssl.SSLContext) -> None:
    visitor = console.visitor(trust)
    page = visitor.log_in("", "secret")
    assert page.status == 303
    said = {part.strip().lower() for part in page.headers["Set-Cookie"].split(";")}
    assert {"secure", "httponly", "samesite=strict"} <= said
    assert visitor.get("/keys").status == 200


def test_the_charts_have_what_the_metrics_tell_over_tls(
    console: ConsoleProcess, trust: ssl.SSLContext
) -> None:
    visitor = console.visitor(trust)
    visitor.log_in("", "secret")

    def told() -> dict[str, list[float]]:
        series: dict[str, list[float]] = json.loads(visitor.get("/api/overview").body)["series"]
        return series

    wait_until(lambda: "lag.p99" in told(), "the page of metrics was read")


def test_a_browser_that_does_not_trust_it_is_not_spoken_to(console: ConsoleProcess) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        console.visitor(ssl.create_default_context()).get("/login")
    with pytest.raises((ConnectionError, OSError)):
        console.visitor().get("/login")  # without TLS


def test_a_form_of_the_same_name_without_tls_is_of_another_port(
    console: ConsoleProcess, trust: ssl.SSLContext
) -> None:
    """The cookie is sent to all ports of a host; forms of theirs are not taken."""
    visitor = console.visitor(trust)
    visitor.log_in("", "secret")
    assert (
        visitor.post("/theme", {"theme": "dark"}, {"Origin": "https://127.0.0.1:1"}).status == 403
    )


def test_a_server_of_another_authority_is_not_given_the_password(
    strata: StrataServer, files: Path, trust: ssl.SSLContext, tmp_path: Path
) -> None:
    url = url_of(strata, files, "unauthenticated.pem")
    console = ConsoleProcess(tmp_path / "console", url, flags_of(strata, files)).start()
    try:
        page = console.visitor(trust).log_in("", "secret")
        assert page.status == 503
        assert "The server is away" in page.text
        assert "Traceback" not in console.output()
        assert "secret" not in page.body + console.output()
    finally:
        console.stop()


@pytest.mark.browser
@pytest.mark.skipif(browsers.missing() is not None, reason=browsers.missing() or "")
def test_a_browser_logs_in_and_sees_charts_over_https(
    console: ConsoleProcess, files: Path, tmp_path: Path
) -> None:
    with Browser(tmp_path / "profile", trusted_key=fingerprint(files / "server.pem")) as page:
        page.open(f"https://127.0.0.1:{console.port}/login?next=/")
        page.type("input[name=password]", "secret")
        page.click("button.primary")
        page.wait("document.querySelectorAll('.tile').length >= 5")
        assert page.run("isSecureContext && location.protocol") == "https:"
        assert page.run("document.cookie") == ""  # no script may read it
        page.open(f"https://127.0.0.1:{console.port}/channels?channel=news")
        page.wait("document.querySelector('#tail-state').textContent.startsWith('listening')")


def fingerprint(certificate: Path) -> str:
    """The SHA-256 of its public key, as Chromium names keys."""
    words = ("openssl", "x509", "-in", str(certificate), "-noout", "-pubkey")
    pem = subprocess.run(words, check=True, capture_output=True).stdout
    key = subprocess.run(
        ("openssl", "pkey", "-pubin", "-outform", "der"), input=pem, check=True, capture_output=True
    ).stdout
    return b64encode(hashlib.sha256(key).digest()).decode()
