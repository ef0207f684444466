"""TLS as the options say: for clients that connect, and towards the master."""

import os
import ssl
from collections.abc import Callable
from typing import Any, Final

from stratakv.options import TLS_VERSIONS, BadOption, Options

USUAL_VERSIONS: Final = TLS_VERSIONS[2:]

_VERSIONS: Final = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_DEMANDS: Final = {
    "yes": ssl.CERT_REQUIRED,
    "optional": ssl.CERT_OPTIONAL,
    "no": ssl.CERT_NONE,
}


def for_clients(options: Options) -> ssl.SSLContext:
    """How clients are served; raises `BadOption` for files and words that are of no use."""
    context = _for_strangers(options)
    if options.tls_auth_clients != "no":
        _believe(
            context, options, f"is needed while tls-auth-clients is {options.tls_auth_clients}"
        )
        context.verify_mode = _DEMANDS[options.tls_auth_clients]
    return context


def for_http(options: Options) -> ssl.SSLContext:
    """How the HTTP port is served: who reads metrics need not show a certificate."""
    return _for_strangers(options)


def renew_certificate(context: ssl.SSLContext, options: Options) -> None:
    """Have a context of clients show another certificate; raises `BadOption`, and shows none."""
    _show(context, options, "tls-")


def for_master(options: Options) -> ssl.SSLContext:
    """How we speak to the master with `tls-replication`; raises `BadOption`."""
    context = _restricted(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), options)
    context.check_hostname = False  # as in Redis: a master is known by who has signed for it
    _believe(context, options, "is needed for tls-replication")
    if options.tls_client_cert_file:
        _show(context, options, "tls-client-")
    elif options.tls_cert_file:
        _show(context, options, "tls-")
    return context


def common_name(certificate: dict[str, Any] | None) -> str:
    """Whom a client's certificate names, if it has shown one."""
    for part in (certificate or {}).get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value)
    return ""


def _for_strangers(options: Options) -> ssl.SSLContext:
    context = _restricted(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), options)
    if options.tls_prefer_server_ciphers:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if not options.tls_cert_file:
        raise BadOption("tls-cert-file", "", "is needed for TLS")
    _show(context, options, "tls-")
    return context


def _restricted(context: ssl.SSLContext, options: Options) -> ssl.SSLContext:
    """With the versions and ciphers that are allowed."""
    chosen = options.tls_protocols.split() or USUAL_VERSIONS
    versions = [_VERSIONS[name] for name in chosen]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if options.tls_ciphers:
        _try("tls-ciphers", options.tls_ciphers, lambda: context.set_ciphers(options.tls_ciphers))
    return context


def _show(context: ssl.SSLContext, options: Options, prefix: str) -> None:
    """Present a certificate; a key that wants a password is given one, never asked for it."""
    stem = prefix.replace("-", "_")
    cert: str = getattr(options, f"{stem}cert_file")
    key: str = getattr(options, f"{stem}key_file") or cert
    password: str = getattr(options, f"{stem}key_file_pass")
    _try(f"{prefix}cert-file", cert, lambda: os.close(os.open(cert, os.O_RDONLY)))
    _try(f"{prefix}key-file", key, lambda: context.load_cert_chain(cert, key, lambda: password))


def _believe(context: ssl.SSLContext, options: Options, why: str) -> None:
    """Know the authorities of the other side."""
    file, directory = options.tls_ca_cert_file, options.tls_ca_cert_dir
    if not file and not directory:
        raise BadOption("tls-ca-cert-file", "", why)
    name = "tls-ca-cert-file" if file else "tls-ca-cert-dir"
    load = lambda: context.load_verify_locations(file or None, directory or None)  # noqa: E731
    _try(name, file or directory, load)


def _try(name: str, value: str, action: Callable[[], object]) -> None:
    try:
        action()
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadOption(name, value, f"cannot be used: {reason}") from None
