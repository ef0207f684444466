"""Names the machine and the servers, because numbers without them say nothing."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.servers import Server


def describe() -> dict[str, str]:
    """Processor, cores, memory, kernel, Python, load average and date."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{pages * size / 2**30:.0f} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load at the start": f"{os.getloadavg()[0]:.2f}",
    }


def version_of(server: Server) -> str:
    """The version a server states in INFO; its own words where it is no Redis."""
    with server.client() as client:
        reply = client.pipeline([("INFO", "server")])[0]
    info = reply.decode(errors="replace") if isinstance(reply, bytes) else ""
    fields = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
    for name in ("stratakv_version", "kvrocks_version", "redis_version"):
        if name in fields:
            build = fields.get("stratakv_build", "")
            return f"{name.partition('_')[0]} {fields[name]} {build}".rstrip()
    return "unknown"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
