"""What a service manager such as systemd is told, if it has named a socket in NOTIFY_SOCKET."""

import logging
import os
import socket
import time
from typing import Final

log = logging.getLogger("stratakv")

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


def tell(state: str) -> None:
    """Send a state, in the words of sd_notify(3); that it cannot be sent stops nothing."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]  # a socket without a file
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
            link.sendto(state.encode(), address)
    except OSError as error:
        log.warning("the service manager was not told %s: %s", state, error)


def reloading() -> str:
    """The state while files are read again; since when is what Type=notify-reload wants to know."""
    return f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"
