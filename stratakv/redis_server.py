"""`stratakv-redis-server`: started, spoken to and listened to as a redis-server is.

For service files and test suites that start a Redis themselves. The options are the directives of
a redis.conf, and our own beside them.
"""

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stratakv import __version__, build, cli, options
from stratakv.errors import Damaged, StoreUnavailable
from stratakv.options import BadOption, Given

if TYPE_CHECKING:
    from stratakv.proxy.config.conf_lines import BadConf
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

REDIS_VERSION: Final = "7.0.15"
_USAGE: Final = """\
Usage: stratakv-redis-server [/path/to/redis.conf] [--option value ...] [-]
       stratakv-redis-server -            reads the configuration from the standard input
       stratakv-redis-server -v, --version
       stratakv-redis-server -h, --help
The options are those of a redis.conf, and StrataKV's own (stratakv serve --help)."""
_UNAVAILABLE: Final = {
    "--sentinel": "StrataKV is no Sentinel: run Redis's own beside it",
    "--test-memory": "there is no test of memory here",
    "--check-system": "there is no check of the system here",
}
_UNLESS_ASKED: Final = {"http": "no", "log-format": "redis"}
"""What suites that start many servers at once rely on: no second port, and Redis's log lines."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a server; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] in (["-v"], ["--version"]):
        print(f"Redis server v={REDIS_VERSION} sha=00000000:0 malloc=python bits=64 build=0")
        print(build.description())
        return 0
    if words[:1] in (["-h"], ["--help"]):
        print(_USAGE, file=sys.stderr)
        return 1
    for word in words:
        if word.lower() in _UNAVAILABLE:
            print(f"stratakv-redis-server: {_UNAVAILABLE[word.lower()]}", file=sys.stderr)
            return 1
    os.umask(0o077)
    return _start(words)


def _start(words: Sequence[str]) -> int:
    from stratakv.proxy.config.conf_lines import BadConf

    try:
        given = _read(words)
        environment = options.from_environment()
        chosen = options.load({}, environment, None, given)
    except BadConf as bad:
        _tell_bad_line(bad)
        return 1
    except BadOption as bad:
        print(f"stratakv-redis-server: {bad}", file=sys.stderr)
        return 1
    try:
        code = cli.serve(chosen, given, announce=_announce)
        log.warning("StrataKV is now ready to exit, bye bye...")
        return code
    except (Damaged, BadOption, StoreUnavailable, OSError) as error:
        if "cannot listen" in str(error):
            log.error("Failed listening on port %d (tcp), aborting.", chosen.port)
        log.error("%s", error)
        print(f"stratakv-redis-server: {error}", file=sys.stderr)
        return 1


def _tell_bad_line(bad: "BadConf") -> None:
    print(f"\n*** FATAL CONFIG FILE ERROR (StrataKV {__version__}) ***", file=sys.stderr)
    print(
        f"Reading the configuration file {bad.line.file}, at line {bad.line.number}",
        file=sys.stderr,
    )
    print(f">>> '{bad.line.shown}'\n{bad.reason}", file=sys.stderr)


def _read(words: Sequence[str]) -> Given:
    """The file in front, then the standard input, then what the command line says."""
    from stratakv.proxy.config import conf_lines

    left = list(words)
    file = Path(left.pop(0)) if left and not left[0].startswith("-") else None
    texts: list[tuple[str, str]] = []
    if "-" in (left[:1] + left[-1:]):
        left.pop(0 if left[0] == "-" else -1)
        texts.append((conf_lines.as_text(sys.stdin.buffer.read()), conf_lines.STANDARD_INPUT))
    texts.append((conf_lines.from_arguments(left), conf_lines.COMMAND_LINE))
    return cli.read_conf(file, *texts, **_UNLESS_ASKED)


def _announce(server: "Server", http_port: int) -> None:
    """The lines that suites and scripts wait for in a Redis's log."""
    listeners, chosen = server.listeners, server.options
    log.warning("%s, speaks as Redis %s", build.description(), REDIS_VERSION)
    log.warning("Running mode=%s, Port: %d, PID: %d", server.mode, listeners.port, os.getpid())
    if chosen.http:
        log.warning("metrics are at port %d", http_port)
    if listeners.port or listeners.tls_port:
        log.warning("Ready to accept connections")
    if chosen.unixsocket:
        log.warning("The server is now ready to accept connections at %s", chosen.unixsocket)


if __name__ == "__main__":
    sys.exit(main())
