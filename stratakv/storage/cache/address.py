"""Addresses of a Redis: redis://, rediss:// and unix://, with user, password and database.

    rediss://user:password@host:6380/0?ca=/etc/ca.pem&cert=/etc/client.pem&key=/etc/client.key

`ca` is the file of the authorities that are trusted instead of the system's; `cert` and `key` are
what we show of ourselves.
"""

import ssl
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

DEFAULT_PORT = 6379


@dataclass(frozen=True, slots=True)
class Address:
    """Where a Redis is and how to introduce oneself."""

    host: str = ""
    port: int = DEFAULT_PORT
    path: str = ""
    tls: bool = False
    user: str = ""
    password: str = ""
    database: int = 0
    ca: str = ""
    cert: str = ""
    key: str = ""

    def tls_context(self) -> ssl.SSLContext | None:
        """How to speak TLS; None without it. Raises OSError for files that cannot be read."""
        if not self.tls:
            return None
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.cert:
            context.load_cert_chain(self.cert, self.key or None)
        return context

    def __str__(self) -> str:
        """Without the password: this goes to logs."""
        if self.path:
            return f"unix://{self.path}?db={self.database}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis{'s' * self.tls}://{host}:{self.port}/{self.database}"


def parse_address(url: str) -> Address:
    """The address of a URL; raises ValueError for anything else."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    query = parse_qs(parts.query, strict_parsing=bool(parts.query))
    database = query.pop("db", ["0"])[0]
    tls = parts.scheme == "rediss"
    files = {name: query.pop(name)[0] for name in ("ca", "cert", "key") if tls and name in query}
    if query or parts.fragment:
        raise ValueError(url)
    if parts.scheme == "unix":
        path = unquote(parts.path)
        if parts.hostname or len(path) < 2:
            raise ValueError(url)
        return Address(path=path, user=user, password=password, database=_database(database))
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        raise ValueError(url)
    name = parts.path.strip("/") or database
    return Address(
        host=parts.hostname,
        port=parts.port or DEFAULT_PORT,
        tls=tls,
        user=user,
        password=password,
        database=_database(name),
        **files,
    )


def without_password(url: str) -> str:
    """A URL, well-formed or not, as logs and messages may show it."""
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    if not separator or not at:
        return url
    user, colon, _ = credentials.partition(":")
    return f"{scheme}://{user}{':(redacted)' if colon else ''}@{place}"


def _database(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number
