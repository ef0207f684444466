"""The command line: `stratakv serve` and the offline tools."""

import argparse
import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratakv import build, logs, options, service_manager
from stratakv.console import command as console_command
from stratakv.errors import Damaged, StoreUnavailable
from stratakv.options import BadOption, Given, Options
from stratakv.storage.engines import HBASE
from stratakv.tools import backup_command, compare_command, export_command, import_command

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

_ADVICE = "`stratakv check` lists what is lost, `serve --recover` goes on with what can be read"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit code."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help()
        return 2
    os.umask(0o077)
    try:
        code: int = parsed.run(parsed)
    except Damaged as damage:
        print(f"stratakv: the store is damaged: {damage}. {_ADVICE}", file=sys.stderr)
        return 1
    except (BadOption, StoreUnavailable, OSError) as error:
        print(f"stratakv: {error}", file=sys.stderr)
        return 1
    return code


class _Parser(argparse.ArgumentParser):
    """Takes options by their whole names only, in the subcommands as well."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stratakv", description="Redis's API on disk-sized data, on an embedded LevelDB."
    )
    parser.add_argument("--version", action="version", version=build.description())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_serve(commands)
    _add_check(commands)
    _add_repair(commands)
    _add_inspect(commands)
    for tool in (export_command, import_command, compare_command, backup_command, console_command):
        tool.declare(commands)
    return parser


def _add_serve(commands: Any) -> None:
    serve = commands.add_parser(
        "serve",
        help="run the server",
        description="Run the server. Flags win over STRATAKV_* variables, those over the file.",
    )
    serve.set_defaults(run=run_serve)
    serve.add_argument("conf", nargs="?", metavar="redis.conf", help="a configuration of Redis's")
    serve.add_argument("--config", metavar="FILE", help="a TOML file with the same names")
    serve.add_argument(
        "--recover",
        action="store_true",
        help="if the data directory is damaged, go on with what can be read; the files are kept",
    )
    for name, entry in options.declared().items():
        shown = options.show(Options(), name).replace("%", "%%") or "none"
        serve.add_argument(
            f"--{name}",
            metavar="VALUE",
            nargs="+" if name == "bind" else None,
            help=f"{entry.metadata['doc']} (default: {shown})",
        )


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check", help="verify the files and the invariants of a data directory"
    )
    check.add_argument("dir", metavar="DIR", nargs="?", help="not with --engine hbase")
    _add_table(check)
    check.set_defaults(run=run_check)


def _add_table(command: argparse.ArgumentParser) -> None:
    """Options that name a table of an HBase in place of a directory."""
    command.add_argument("--engine", choices=[HBASE], help="read a table, while it is served too")
    command.add_argument("--hbase-zookeeper", default="", metavar="HOST:PORT,...")
    command.add_argument("--hbase-table", default="stratakv", metavar="NAME")


def _directory(parsed: argparse.Namespace) -> Path:
    """The directory that was named, where no table was."""
    if parsed.dir is None:
        raise StoreUnavailable("name a data directory, or a table with --engine hbase")
    return Path(parsed.dir)


def _add_repair(commands: Any) -> None:
    repair = commands.add_parser(
        "repair", help="write what can be read of a damaged data directory into a new one"
    )
    repair.add_argument("dir", metavar="DIR")
    repair.add_argument(
        "newdir", metavar="NEWDIR", nargs="?", help="must be empty (default: DIR.repaired)"
    )
    repair.set_defaults(run=run_repair)


def _add_inspect(commands: Any) -> None:
    inspect = commands.add_parser("inspect", help="show the rows of a key in a data directory")
    inspect.add_argument("dir", metavar="DIR", nargs="?", help="not with --engine hbase")
    inspect.add_argument("key", metavar="KEY")
    _add_table(inspect)
    inspect.add_argument("--db", type=int, default=0, metavar="N", help="database (default: 0)")
    inspect.add_argument(
        "--namespace", default="", metavar="NAME", help="the namespace of users that it is in"
    )
    inspect.add_argument(
        "--limit", type=int, default=100, metavar="N", help="rows of each kind (default: 100)"
    )
    inspect.set_defaults(run=run_inspect)


def run_inspect(parsed: argparse.Namespace) -> int:
    """`stratakv inspect DIR KEY`: 0 if there is such a key."""
    from stratakv.encodings.upkeep.inspect import inspect_directory, inspect_table

    key = os.fsencode(parsed.key)
    found = False
    wanted = parsed.db, key, parsed.limit, parsed.namespace
    if parsed.engine == HBASE:
        lines = inspect_table(parsed.hbase_zookeeper, parsed.hbase_table, *wanted)
    else:
        lines = inspect_directory(_directory(parsed), *wanted)
    for line in lines:
        print(line)
        found = found or line.startswith("  type")
    return 0 if found else 1


def run_check(parsed: argparse.Namespace) -> int:
    """`stratakv check DIR`: 0 if every invariant holds, 1 with a line for each that does not."""
    if parsed.engine == HBASE:
        from stratakv.encodings.upkeep.check_table import check_table

        return check_table(parsed.hbase_zookeeper, parsed.hbase_table)
    from stratakv.encodings.upkeep.check import check_directory

    return check_directory(_directory(parsed))


def run_repair(parsed: argparse.Namespace) -> int:
    """`stratakv repair DIR [NEWDIR]`: 0 when it is done, with a line for whatever is lost."""
    from stratakv.encodings.upkeep.repair import repair

    source = Path(parsed.dir)
    target = Path(parsed.newdir) if parsed.newdir else source.with_name(source.name + ".repaired")
    for line in repair(source, target):
        print(line)
    print(f"{target}: repaired")
    return 0


Announce = Callable[["Server", int], None]
"""Says that a server is ready, and where its HTTP port is."""


def _announce(server: "Server", http_port: int) -> None:
    caches = sum(server.cache_sizes) >> 20
    ports = f"port={server.listeners.port} http_port={http_port}"
    if server.listeners.tls_port:
        ports += f" tls_port={server.listeners.tls_port}"
    print(f"ready {ports} pid={os.getpid()} caches={caches}mb", flush=True)


def run_serve(parsed: argparse.Namespace) -> int:
    """`stratakv serve`: until SIGTERM or SIGINT."""
    if parsed.conf and parsed.config:
        raise BadOption("config", parsed.config, f"there is {parsed.conf} already")
    flags: dict[str, str] = {}
    for name in options.declared():
        value = getattr(parsed, name.replace("-", "_"))
        if value is not None:
            flags[name] = " ".join(value) if isinstance(value, list) else value
    file = Path(parsed.config) if parsed.config else None
    environment = options.from_environment()
    given = read_conf(Path(parsed.conf)) if parsed.conf else None
    chosen = options.load(flags, environment, file, given)
    return serve(chosen, given, recovers=parsed.recover)


def read_conf(file: Path | None, *others: tuple[str, str], **defaults: str) -> Given:
    """What a redis.conf says, and other texts with the names of where they are from."""
    from stratakv.proxy import commands  # noqa: F401  # rules of users name commands
    from stratakv.proxy.config import redis_conf

    return redis_conf.read(file, *others, defaults=defaults)


def serve(
    chosen: Options,
    given: Given | None = None,
    *,
    recovers: bool = False,
    announce: Announce = _announce,
) -> int:
    """Run a server until it is told to end."""
    from stratakv import descriptors, process

    if given is not None:
        os.chdir(chosen.dir)  # as Redis: paths of its configuration are seen from there
    environment = options.from_environment()
    _open_log(chosen)
    supervisor = process.supervisor(chosen, environment)
    is_daemon = chosen.daemonize and not supervisor
    if is_daemon:
        process.go_to_background()
    else:
        faulthandler.enable()  # should a library crash, the log says where
    for name in options.unknown_variables(environment):
        log.warning("the variable %s is not an option: it has no effect", name)
    log.info("%s starts, pid %d: %s", build.description(), os.getpid(), options.summary(chosen))
    descriptors.prepare(chosen)

    def ready(server: "Server", http_port: int) -> None:
        announce(server, http_port)
        process.wait_for_upstart(supervisor)

    with process.pid_file(chosen, is_daemon=is_daemon), _failures_logged(is_daemon):
        if given is not None:
            _take_over(chosen, given)
        if recovers and chosen.engine == "leveldb":
            _recover(chosen.store_directory)
        return _run_loop(_serve(chosen, ready))


@contextlib.contextmanager
def _failures_logged(is_daemon: bool) -> Iterator[None]:
    """A daemon has no standard error: why it could not go on is logged."""
    try:
        yield
    except (BadOption, StoreUnavailable, OSError) as error:
        if is_daemon:
            log.error("%s", error)
        raise


def _take_over(chosen: Options, given: Given) -> None:
    """Say what of a redis.conf has no effect, and load what that Redis has left."""
    from stratakv.proxy.config import redis_conf
    from stratakv.tools.taking_over import take_over

    if given.notes:
        log.warning("%s", redis_conf.summary(given.notes, given.file))
    if chosen.engine == "leveldb":
        take_over(chosen)


def _open_log(chosen: Options) -> None:
    file = chosen.log_file
    try:
        level, is_like_redis = chosen.log_level, chosen.is_like_redis
        logs.configure(level, chosen.log_format, file, is_like_redis=is_like_redis)
    except OSError as error:
        reason = f"cannot be written: {error.strerror}"
        raise BadOption("log-file", chosen.log_file, reason) from None


def _recover(directory: Path) -> None:
    from stratakv.encodings.upkeep.repair import recover

    for line in recover(directory):
        print(f"stratakv: {line}", file=sys.stderr)


def _run_loop(work: Coroutine[Any, Any, int]) -> int:
    """Run on uvloop where it is installed, else on asyncio's own loop."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def _serve(chosen: Options, ready: Announce) -> int:
    from stratakv.proxy.observe.metrics import MetricsServer
    from stratakv.proxy.server import Server

    loop = asyncio.get_running_loop()
    if chosen.engine == HBASE:
        with _ended_by_signals():
            server = Server(chosen, loop)
    _obey_signals(loop, lambda: server)
    if chosen.engine != HBASE:
        server = Server(chosen, loop)
    metrics = MetricsServer(server)
    try:
        await server.listen()
        await metrics.listen()
        await server.tier_control.verify()
        _tune_interpreter()
        ready(server, metrics.port)
        service_manager.tell(service_manager.READY)
        await server.run()
    finally:
        metrics.close()
        server.close()
    return 0


def _read_again(server: "Server") -> None:
    """What a SIGHUP asks for: certificates as they are now, and a log under its name."""
    service_manager.tell(service_manager.reloading())
    logs.reopen()
    server.listeners.reload_tls()
    service_manager.tell(service_manager.READY)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGINT end the process at once: it may be waiting for an HBase that is away."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _obey_signals(loop: asyncio.AbstractEventLoop, server: Callable[[], "Server"]) -> None:
    """SIGTERM and SIGINT stop the server as soon as it is there.

    SIGHUP has files opened again; a terminal that hangs up ends nothing, as with Redis.
    """

    def terminate() -> None:
        server().ending.begin(server().options.shutdown_on_sigterm.split())

    def interrupt() -> None:
        server().ending.hasten(server().options.shutdown_on_sigint.split())

    loop.add_signal_handler(signal.SIGTERM, terminate)
    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGHUP, lambda: _read_again(server()))


def _tune_interpreter() -> None:
    """Settings for a process whose event loop must never be late.

    The collector need not walk over objects that live as long as the process. It takes half a
    microsecond for an object, so it looks at few at a time, and next to never at all: the caches
    hold no cycles, nor do clients that are gone. A thread that builds a large batch gives the lock
    back sooner.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5000, 2, 200_000)
    sys.setswitchinterval(0.0005)
