"""The command line: `stratakv serve` and the offline tools."""

import argparse
import asyncio
import gc
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from stratakv import __version__, logs, options
from stratakv.errors import StoreUnavailable
from stratakv.options import BadOption, Options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit code."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help()
        return 2
    try:
        code: int = parsed.run(parsed)
    except (BadOption, StoreUnavailable, OSError) as error:
        print(f"stratakv: {error}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stratakv", description="Redis's API on disk-sized data, on an embedded LevelDB."
    )
    parser.add_argument("--version", action="version", version=f"stratakv {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_serve(commands)
    _add_check(commands)
    _add_inspect(commands)
    return parser


def _add_serve(commands: Any) -> None:
    serve = commands.add_parser(
        "serve",
        help="run the server",
        description="Run the server. Flags win over STRATAKV_* variables, those over the file.",
    )
    serve.set_defaults(run=run_serve)
    serve.add_argument("--config", metavar="FILE", help="a TOML file with the same names")
    for name, entry in options.declared().items():
        shown = options.show(Options(), name).replace("%", "%%") or "none"
        serve.add_argument(
            f"--{name}",
            metavar="VALUE",
            nargs="+" if name == "bind" else None,
            help=f"{entry.metadata['doc']} (default: {shown})",
        )


def _add_check(commands: Any) -> None:
    check = commands.add_parser("check", help="verify the invariants of a data directory")
    check.add_argument("dir", metavar="DIR")
    check.set_defaults(run=run_check)


def _add_inspect(commands: Any) -> None:
    inspect = commands.add_parser("inspect", help="show the rows of a key in a data directory")
    inspect.add_argument("dir", metavar="DIR")
    inspect.add_argument("key", metavar="KEY")
    inspect.add_argument("--db", type=int, default=0, metavar="N", help="database (default: 0)")
    inspect.add_argument(
        "--limit", type=int, default=100, metavar="N", help="rows of each kind (default: 100)"
    )
    inspect.set_defaults(run=run_inspect)


def run_inspect(parsed: argparse.Namespace) -> int:
    """`stratakv inspect DIR KEY`: 0 if there is such a key."""
    from stratakv.encodings.inspecting import inspect_directory

    key = os.fsencode(parsed.key)
    found = False
    for line in inspect_directory(Path(parsed.dir), parsed.db, key, parsed.limit):
        print(line)
        found = found or line.startswith("  type")
    return 0 if found else 1


def run_check(parsed: argparse.Namespace) -> int:
    """`stratakv check DIR`: 0 if every invariant holds, 1 with a line for each that does not."""
    from stratakv.encodings.check import check_directory

    return check_directory(Path(parsed.dir))


def run_serve(parsed: argparse.Namespace) -> int:
    """`stratakv serve`: until SIGTERM or SIGINT."""
    from stratakv import descriptors

    flags: dict[str, str] = {}
    for name in options.declared():
        value = getattr(parsed, name.replace("-", "_"))
        if value is not None:
            flags[name] = " ".join(value) if isinstance(value, list) else value
    file = Path(parsed.config) if parsed.config else None
    chosen = options.load(flags, options.from_environment(), file)
    logs.configure(chosen.log_level, chosen.log_format)
    descriptors.prepare(chosen)
    return _run_loop(_serve(chosen))


def _run_loop(work: Coroutine[Any, Any, int]) -> int:
    """Run on uvloop where it is installed, else on asyncio's own loop."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def _serve(chosen: Options) -> int:
    from stratakv.proxy.metrics import MetricsServer
    from stratakv.proxy.server import Server

    loop = asyncio.get_running_loop()
    server = Server(chosen, loop)
    metrics = MetricsServer(server)
    try:
        await server.listen()
        await metrics.listen()
        await server.tiering.verify()
    except (OSError, BadOption):
        server.store.close()
        raise
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stopping.set)
    _tune_interpreter()
    print(f"ready port={server.port} http_port={metrics.port} pid={os.getpid()}", flush=True)
    await server.run()
    metrics.close()
    return 0


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
