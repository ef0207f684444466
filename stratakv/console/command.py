"""`stratakv console`: what it is started with, and how it ends."""

import argparse
import asyncio
import os
import signal
import ssl
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from stratakv.console.settings import Settings
from stratakv.options import BadOption
from stratakv.storage.cache.address import Address, parse_address

if TYPE_CHECKING:
    from aiohttp import web

PORT: Final = 8380
URL: Final = "redis://127.0.0.1:6380"
URL_VARIABLE: Final = "STRATAKV_CONSOLE_URL"
NEEDED: Final = ("aiohttp", "msgpack")


def declare(commands: Any) -> None:
    """The subcommand and its options."""
    console = commands.add_parser(
        "console",
        help="a page to look into a running server",
        description="Serve a page that looks into a running StrataKV or Redis. One logs in as a"
        " user of that server, and may do there what the user may.",
    )
    console.add_argument(
        "--url",
        metavar="URL",
        help="redis://[user:password@]host:port, rediss:// or unix:// (default:"
        f" ${URL_VARIABLE}, or {URL}). A user in it only records what the charts show",
    )
    console.add_argument("--bind", default="127.0.0.1", metavar="IP", help="default: %(default)s")
    console.add_argument("--port", type=int, default=PORT, metavar="N", help="default: %(default)s")
    console.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which browsers reach the console, besides localhost and addresses",
    )
    console.add_argument(
        "--metrics-url", default="", metavar="URL", help="default: as the server says"
    )
    console.add_argument("--tls-cert-file", default="", metavar="FILE", help="serve HTTPS")
    console.add_argument("--tls-key-file", default="", metavar="FILE")
    console.add_argument(
        "--write", action="store_true", help="allow changes; without it, it only reads"
    )
    console.set_defaults(run=run_console)


def run_console(parsed: argparse.Namespace) -> int:
    """Until SIGTERM or SIGINT: 0, or 1 if it cannot listen."""
    chosen = settings_of(parsed)
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        print(
            f"stratakv: the console needs {' and '.join(lacking)}: pip install 'stratakv[console]'",
            file=sys.stderr,
        )
        return 1
    return asyncio.run(_serve(chosen))


def settings_of(parsed: argparse.Namespace) -> Settings:
    """What the options say; raises `BadOption`."""
    if not 0 <= parsed.port <= 65535:
        raise BadOption("--port", str(parsed.port), "a port from 0 to 65535")
    if bool(parsed.tls_cert_file) != bool(parsed.tls_key_file):
        raise BadOption("--tls-cert-file", None, "goes with --tls-key-file")
    if parsed.metrics_url and not parsed.metrics_url.startswith(("http://", "https://")):
        raise BadOption("--metrics-url", parsed.metrics_url, "an http:// or https:// address")
    return Settings(
        server=_server(parsed.url or os.environ.get(URL_VARIABLE) or URL),
        bind=parsed.bind,
        port=parsed.port,
        hosts=frozenset(name.lower() for name in parsed.host),
        metrics_url=parsed.metrics_url,
        tls_cert=parsed.tls_cert_file,
        tls_key=parsed.tls_key_file,
        writes=parsed.write,
    )


def _server(url: str) -> Address:
    try:
        return parse_address(url)
    except ValueError:
        # Its text may hold a password.
        allowed = "a redis://, rediss:// or unix:// address"
        raise BadOption("--url", None, allowed) from None


async def _serve(settings: Settings) -> int:
    from aiohttp import web

    from stratakv.console import app

    context = _tls(settings)
    if not settings.is_local:
        await _refuse_open_doors(settings)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    runner = web.AppRunner(app.make(settings), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.bind, settings.port, ssl_context=context)
        await site.start()
        print(f"ready {_place(settings, runner)}", flush=True)
        await stopped.wait()
    finally:
        await runner.cleanup()
    return 0


async def _refuse_open_doors(settings: Settings) -> None:
    """Whoever reaches the console would be let in by a server without a password.

    One that is away now is asked again at each login.
    """
    from stratakv.console.client import lets_anybody_in
    from stratakv.console.replies import Away

    try:
        is_open = await lets_anybody_in(settings.server)
    except Away:
        return
    if is_open:
        raise BadOption(
            "--bind", settings.bind, "the server asks for no password: only loopback will do"
        )


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if not settings.tls_cert:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise OSError(f"{settings.tls_cert}: {error.strerror or error}") from None
    return context


def _place(settings: Settings, runner: "web.AppRunner") -> str:
    host, port = runner.addresses[0][:2]
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"
