"""The application: pages, what they send, and what is done beside them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from aiohttp import web

from stratakv.console import gate
from stratakv.console.client import Client, Login
from stratakv.console.frame import CONSOLE, Console
from stratakv.console.pages import (
    access,
    channels,
    clients,
    editing,
    key,
    keys,
    large,
    overview,
    prompt,
    rows,
    slow,
)
from stratakv.console.pages import (
    settings as settings_page,
)
from stratakv.console.recorder import Recorder
from stratakv.console.sessions import Sessions, Tries
from stratakv.console.settings import Settings

STATIC: Final = Path(__file__).with_name("static")
SENT_BYTES: Final = 16 << 20
SWEEP_SECONDS: Final = 60.0
PAGES: Final = (
    access, overview, keys, key, editing, rows, large, slow, clients, channels, settings_page,
    prompt,
)  # fmt: skip
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make(settings: Settings) -> web.Application:
    """The application for a server."""
    app = web.Application(
        client_max_size=SENT_BYTES,
        middlewares=[gate.check_host, gate.find_session, gate.show_problems],
    )
    place = settings.server
    own = Client(place, Login(place.user, place.password))
    recorder = Recorder(own, settings.metrics_url, is_named=bool(place.password))
    app[CONSOLE] = Console(settings, Sessions(), Tries(), recorder)
    app.on_response_prepare.append(gate.set_headers)
    app.cleanup_ctx.append(_work_beside)
    for module in PAGES:
        app.add_routes(module.ROUTES)
    app.router.add_get("/static/{name}", _static)
    return app


async def _work_beside(app: web.Application) -> AsyncIterator[None]:
    """Samples are taken, and sessions end, without a request."""
    console = app[CONSOLE]
    clients = _Clients(console.sessions)
    tasks = [
        asyncio.create_task(console.recorder.run(clients)),
        asyncio.create_task(_sweep(console.sessions)),
    ]
    yield
    for task in tasks:
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks)
    console.sessions.close()


class _Clients:
    """The connections of all who are logged in, as they are when one looks."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def __iter__(self) -> Iterator[Client]:
        return iter([session.client for session in self._sessions])


async def _sweep(sessions: Sessions) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        sessions.sweep()


async def _static(request: web.Request) -> web.StreamResponse:
    """A file of ours: scripts, styles and the mark."""
    name = request.match_info["name"]
    file = STATIC / name
    if "/" in name or file.suffix not in _KINDS or not file.is_file():
        raise web.HTTPNotFound
    answer = web.FileResponse(file, headers={"Cache-Control": "no-cache"})
    answer.content_type = _KINDS[file.suffix]
    return answer
