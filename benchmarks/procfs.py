"""What Linux says about a server process: CPU time, resident memory, bytes written."""

import os
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def parse_cpu_s(stat: str) -> float:
    """User plus system CPU seconds from the text of /proc/PID/stat.

    The command name may hold spaces and brackets, so fields are counted after the last one.
    """
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def parse_memory_mb(status: str) -> dict[str, float]:
    """Resident, peak resident and anonymous memory from the text of /proc/PID/status."""
    names = {"VmRSS": "rss_mb", "VmHWM": "peak_rss_mb", "RssAnon": "anon_mb"}
    found = {}
    for line in status.splitlines():
        name, _, rest = line.partition(":")
        if name in names:
            found[names[name]] = int(rest.split()[0]) / 1024
    return found


def cpu_s(pid: int | None) -> float | None:
    """CPU seconds used so far by all threads of a process; None when it is not ours to see."""
    if pid is None:
        return None
    try:
        return parse_cpu_s((PROC / str(pid) / "stat").read_text())
    except FileNotFoundError:
        return None


def turns_s(pid: int | None) -> tuple[float, float]:
    """Seconds for which the main thread of a process has run, and waited for a processor."""
    text = (PROC / str(pid) / "schedstat").read_text()
    ran, waited, _ = text.split()
    return int(ran) / 1e9, int(waited) / 1e9


def memory_mb(pid: int | None) -> dict[str, float]:
    """Memory of a process now, and its peak since start or the last `reset_peak`."""
    if pid is None:
        return {}
    try:
        return parse_memory_mb((PROC / str(pid) / "status").read_text())
    except FileNotFoundError:
        return {}


def parse_written_mb(io: str) -> float:
    """What was sent to the disk, or will be, from the text of /proc/PID/io."""
    found = dict(line.split(": ") for line in io.splitlines())
    return int(found["write_bytes"]) / 2**20


def written_mb(pid: int | None) -> float | None:
    """MB that a process has written to files since it started; None where nobody may ask."""
    if pid is None:
        return None
    try:
        return parse_written_mb((PROC / str(pid) / "io").read_text())
    except OSError:
        return None


def reset_peak(pid: int | None) -> None:
    """Let the peak start again from the present size, where the kernel allows it."""
    if pid is None:
        return
    try:
        (PROC / str(pid) / "clear_refs").write_text("5")
    except OSError:
        return
