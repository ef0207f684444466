"""What every request passes: the host it came by, its origin, its session, the token of its form.

A page elsewhere can make a browser send requests here. So a name that leads here from outside is
not answered, what changes anything comes with the origin and with a token of ours, and the cookie
goes to nobody who was sent by another site.
"""

import secrets
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from stratakv.console import frame
from stratakv.console.frame import CONSOLE, SESSION
from stratakv.console.markup import el
from stratakv.console.replies import Away, Refused
from stratakv.console.sessions import Session

COOKIE: Final = "stratakv-console"
TOKEN_HEADER: Final = "X-Token"
OPEN: Final = ("/login", "/static/")
"""What is shown to who is not logged in."""
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


async def set_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Headers of every answer, errors included."""
    response.headers.update(HEADERS)
    response.headers["Server"] = "stratakv-console"
    if not request.path.startswith("/static/"):
        response.headers["Cache-Control"] = "no-store"


@web.middleware
async def check_host(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a name that we do not go by, and what another site has sent."""
    name = _host_name(request.host)
    if not request.app[CONSOLE].settings.knows_host(name):
        raise web.HTTPMisdirectedRequest(text=f"The console is not known as {name}: see --host.\n")
    if request.method not in ("GET", "HEAD", "POST"):
        raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD", "POST"])
    if request.method == "POST":
        origin = request.headers.get("Origin", "")
        if urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text="This form was sent by another site.\n")
    return await handler(request)


@web.middleware
async def find_session(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Find who is logged in; others are led to the login."""
    session = request.app[CONSOLE].sessions.find(request.cookies.get(COOKIE, ""))
    if session is not None:
        request[SESSION] = session
    elif not request.path.startswith(OPEN):
        if request.path.startswith("/api/") or request.method == "POST":
            raise web.HTTPUnauthorized(text="Log in again.\n")
        raise web.HTTPSeeOther(frame.address("/login", next=str(request.rel_url)))
    if request.method == "POST" and session is not None and request.path != "/login":
        await _check_token(request, session)
    return await handler(request)


async def _check_token(request: web.Request, session: Session) -> None:
    sent = request.headers.get(TOKEN_HEADER, "") or str((await request.post()).get("token", ""))
    if not secrets.compare_digest(sent.encode(), session.token.encode()):
        raise web.HTTPForbidden(text="This form is not of this session: load the page again.\n")


@web.middleware
async def show_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What the server refuses, and its absence, are pages too."""
    try:
        return await handler(request)
    except Refused as refusal:
        is_right = str(refusal).startswith("NOPERM")
        title = "You may not do this" if is_right else "The server refused"
        return _problem(request, 403 if is_right else 400, title, str(refusal))
    except Away as problem:
        return _problem(request, 503, "The server is away", str(problem))
    except web.HTTPException:
        raise
    except ValueError as problem:
        return _problem(request, 400, "That cannot be", str(problem))


def _problem(request: web.Request, status: int, title: str, text: str) -> web.Response:
    if request.path.startswith("/api/"):
        return web.json_response({"problem": text, "title": title}, status=status)
    shown = el("section", el("p", el("code", text)), class_="card problem", role="alert")
    if status == 503:
        again = el("a", "Try again", href=str(request.rel_url), class_="button")
        shown = el("div", shown, again, data_retry="3")
    return frame.page(request, title, shown, status=status)


def needs_writes(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Handler:
    """A handler that a console without --write does not have."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        if not request.app[CONSOLE].settings.writes:
            raise Refused("this console only reads: it was started without --write")
        return await handler(request)

    return guarded


def _host_name(host: str) -> str:
    """Without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
