"""Certificates for tests over TLS, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def openssl(directory: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)


def make_certificates(directory: Path) -> Path:
    """An authority, a server for 127.0.0.1, a client, and an authority that signed nothing."""
    for name in ("ca", "unauthenticated"):
        made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
        openssl(
            directory,
            *made,
            "-subj",
            f"/CN={name}",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.pem",
        )
    (directory / "names").write_text("subjectAltName = IP:127.0.0.1\n")
    for name in ("server", "client"):
        wanted = ("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}")
        openssl(directory, *wanted, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key")
        more = ("-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl(directory, *signed, *more, "-out", f"{name}.pem")
    return directory
