"""A full disk, as far as a server can tell, that the test can make larger again.

It is a limit on the size of the server's files: LevelDB's log meets it as it would meet the end of
a disk.
"""

from __future__ import annotations

import resource

from tests.harness.servers import Process

NO_LIMIT = resource.RLIM_INFINITY


def limit_files(server: Process, size: int) -> None:
    """No file of the server may grow past that size from now on."""
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, hard))
