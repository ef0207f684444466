"""Log in with the server's user and password, log out, light and dark."""

import math
from typing import Final

from aiohttp import web

from stratakv.console import frame
from stratakv.console.client import Client, Login, lets_anybody_in, place_of
from stratakv.console.frame import CONSOLE, field, local, page, session_of
from stratakv.console.gate import COOKIE
from stratakv.console.markup import Node, el
from stratakv.console.peer import Peer, meet
from stratakv.console.replies import Away, Refused

PROMPT_SECONDS: Final = 20.0


async def show(request: web.Request) -> web.Response:
    """The form."""
    return _form(request, request.query.get("next", "/"))


def _form(request: web.Request, after: str, problem: str = "", status: int = 200) -> web.Response:
    place = place_of(request.app[CONSOLE].settings.server)
    content: list[Node] = [
        el("img", src="/static/mark.svg", alt="", width=56, height=56),
        el("h1", "StrataKV console"),
        el("p", "Log in as a user of the server at ", el("code", place), "."),
        el("p", problem, class_="note bad", role="alert") if problem else None,
        el(
            "form",
            frame.hidden(next=local(after)),
            field(
                "User",
                el(
                    "input",
                    name="user",
                    autocomplete="username",
                    placeholder="default",
                    maxlength=200,
                ),
            ),
            field(
                "Password",
                el(
                    "input",
                    name="password",
                    type="password",
                    autocomplete="current-password",
                    autofocus=True,
                ),
            ),
            el("button", "Log in", class_="primary"),
            method="post",
            action="/login",
        ),
        el("p", "Leave both empty for a server without passwords.", class_="hint"),
    ]
    return page(request, "Log in", el("section", content, class_="card login"), status=status)


async def log_in(request: web.Request) -> web.StreamResponse:
    """Try the password at the server; it is kept in memory for the session alone."""
    console, form = request.app[CONSOLE], await request.post()
    after, peer_address = local(str(form.get("next", "/"))), request.remote or ""
    wait = console.tries.wait(peer_address)
    if wait > 0:
        text = f"Too many wrong passwords: try again in {math.ceil(wait)} s."
        answer = _form(request, after, text, 429)
        answer.headers["Retry-After"] = str(math.ceil(wait))
        return answer
    console.tries.begin(peer_address)
    login = Login(str(form.get("user", "")), str(form.get("password", "")))
    try:
        await _refuse_open_server(request)
        client, peer, left_out = await _enter(request, login)
    except Away as problem:
        console.tries.take_back(peer_address)
        return _form(request, after, f"The server is away: {problem}", 503)
    except Refused as refusal:
        return _form(request, after, f"The server refused: {refusal}", 403)
    console.tries.take_back(peer_address)
    prompt = Client(console.settings.server, login, PROMPT_SECONDS)
    session = console.sessions.add(client, prompt, peer)
    session.left_out = left_out
    answer = web.HTTPSeeOther("/keys" if after in left_out else after)
    answer.set_cookie(
        COOKIE,
        session.name,
        httponly=True,
        samesite="Strict",
        secure=bool(console.settings.tls_cert),
    )
    return answer


async def _refuse_open_server(request: web.Request) -> None:
    settings = request.app[CONSOLE].settings
    if not settings.is_local and await lets_anybody_in(settings.server):
        raise Refused("it asks for no password, so this console lets nobody in from elsewhere")


async def _enter(request: web.Request, login: Login) -> tuple[Client, Peer, frozenset[str]]:
    client = Client(request.app[CONSOLE].settings.server, login)
    try:
        peer = await meet(client, login.user)
        left_out = await _left_out(client, peer)
        return client, peer, left_out
    except BaseException:
        client.close()
        raise


async def _left_out(client: Client, peer: Peer) -> frozenset[str]:
    """The pages that would show the user nothing."""
    if peer.namespace:
        return frozenset(frame.SERVERS_OWN)
    allowed = await peer.allows(client, *frame.NEEDS.values())
    return frozenset(place for place, may in zip(frame.NEEDS, allowed, strict=True) if not may)


async def log_out(request: web.Request) -> web.StreamResponse:
    """End the session."""
    request.app[CONSOLE].sessions.end(session_of(request))
    answer = web.HTTPSeeOther("/login")
    answer.del_cookie(COOKIE)
    return answer


async def change_theme(request: web.Request) -> web.StreamResponse:
    """Light, dark, or as the system has it; for this session."""
    form = await request.post()
    theme = str(form.get("theme", ""))
    if theme in frame.THEMES:
        session_of(request).theme = theme
    return web.HTTPSeeOther(local(str(form.get("next", "/"))))


ROUTES: Final = [
    web.get("/login", show),
    web.post("/login", log_in),
    web.post("/logout", log_out),
    web.post("/theme", change_theme),
]
