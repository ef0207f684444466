"""A client of another language over TLS: Node's own TLS, and ioredis, which most of Node uses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis

from tests.applications.workers import run_to_end
from tests.harness.certificates import make_certificates
from tests.harness.servers import StrataServer, free_port

pytestmark = pytest.mark.application

SCRIPT = Path(__file__).with_name("tls_client.js")


def test_ioredis_over_tls_is_the_user_of_its_certificate(modules: Path, tmp_path: Path) -> None:
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    make_certificates(certificates)
    port = free_port()
    flags = ["--port", str(free_port()), "--tls-port", str(port)]
    flags += ["--tls-auth-clients-user", "cn"]
    for name, file in (("cert", "server.pem"), ("key", "server.key"), ("ca-cert", "ca.pem")):
        flags += [f"--tls-{name}-file", str(certificates / file)]
    server = StrataServer(tmp_path / "data", flags).start()
    with redis.Redis(port=server.port) as client:
        client.execute_command("ACL", "SETUSER", "client", "on", "~*", "&*", "+@all")
    argv = ["node", str(SCRIPT), str(port), str(certificates)]
    seen = json.loads(run_to_end(argv, {"NODE_PATH": str(modules)}))
    server.stop()
    assert seen == {
        "who": "client",
        "value": "v",
        "pipeline": [1, 2],
        "multi": ["OK", "1"],
        "large": True,
        "message": ["news", "hello"],
    }
