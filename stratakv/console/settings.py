"""What the console was started with."""

import ipaddress
from dataclasses import dataclass, field

from stratakv.storage.cache.address import Address


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the server is, where to listen, what is allowed."""

    server: Address
    bind: str = "127.0.0.1"
    port: int = 8380
    hosts: frozenset[str] = field(default_factory=frozenset)
    """Names besides addresses and localhost by which browsers may know the console."""
    metrics_url: str = ""
    """Where the server's metrics are; found out if it is empty."""
    tls_cert: str = ""
    tls_key: str = ""
    writes: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches the console."""
        return is_loopback(self.bind)

    def knows_host(self, name: str) -> bool:
        """Whether a browser may have come by this name.

        A page elsewhere that has its own name lead here (DNS rebinding) can do so only by a name:
        an address is what it says.
        """
        name = name.lower().strip("[]")
        return name == "localhost" or name in self.hosts or _is_address(name)


def is_loopback(host: str) -> bool:
    """Whether an address or a name is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
