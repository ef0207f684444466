"""Any command: what is typed is sent, and the reply is shown as redis-cli would.

Without --write only what reads is sent. What waits, listens or changes the connection is left to
redis-cli in any case. The prompt has a connection of its own, and a command half a minute.
"""

import shlex
from typing import Any, Final

from aiohttp import web

from stratakv.console import forms
from stratakv.console.frame import CONSOLE, card, field, page, session_of
from stratakv.console.markup import el
from stratakv.console.replies import Failure, Refused
from stratakv.console.sessions import Session

LINES: Final = 500
LINE_BYTES: Final = 2000
WORDS: Final = 1024
READS: Final = frozenset(
    {
        "ping", "echo", "time", "info", "role", "lastsave", "command", "latency", "memory",
        "config|get", "client|list", "client|info", "client|id", "client|getname", "slowlog|get",
        "slowlog|len", "acl|whoami", "acl|list", "acl|users", "acl|getuser", "acl|cat",
        "acl|dryrun",
        "acl|log", "pubsub|channels", "pubsub|numsub", "pubsub|numpat", "object", "dbsize",
        "function|list", "function|stats", "script|exists", "strata|progress", "strata|hotkeys",
        "strata|help", "config|help", "client|help", "slowlog|help", "acl|help", "pubsub|help",
    }
)  # fmt: skip
"""What reads though the table does not say so."""
RESETS: Final = frozenset({"latency|reset", "memory|purge"})
NEVER: Final = frozenset(
    {
        "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe",
        "monitor", "sync", "psync", "replconf", "quit", "reset", "auth", "hello", "select", "multi",
        "exec", "discard", "watch", "unwatch", "client|reply", "client|tracking", "client|caching",
        "wait", "debug",
    }
)  # fmt: skip


async def show(request: web.Request) -> web.Response:
    """The page; a script sends what is typed, and shows what comes."""
    writes = request.app[CONSOLE].settings.writes
    hint = "Tab completes, the arrows go through what was typed before." + (
        "" if writes else " Only commands that read are sent."
    )
    inputs = el(
        "form",
        field("Database", el("input", name="db", value="0", inputmode="numeric", size=3)),
        field(
            "Command",
            el(
                "input",
                name="line",
                id="line",
                autocomplete="off",
                autocapitalize="off",
                spellcheck="false",
                autofocus=True,
                role="combobox",
                aria_expanded="false",
                aria_controls="offers",
                placeholder="HGETALL user:1",
            ),
        ),
        el("button", "Run", class_="primary"),
        id="prompt",
        class_="prompt",
    )
    return page(
        request,
        "Prompt",
        card(
            "",
            el("div", id="output", class_="output", role="log"),
            inputs,
            el("ul", id="offers", class_="offers", role="listbox", hidden=True),
            el("div", id="help", class_="help"),
            el("p", hint, class_="hint"),
        ),
    )


async def run(request: web.Request) -> web.Response:
    """Send a line; the reply as text."""
    session, sent = session_of(request), await request.post()
    line, db = str(sent.get("line", "")), str(sent.get("db", "0")).strip() or "0"
    if not db.isdecimal():
        raise ValueError("the database is a number")
    words = split(line)
    if not words:
        raise ValueError("type a command")
    session.history.append(line)
    await _check(request, session, words)
    (reply,) = await session.prompt.pipeline([words], db=int(db))
    return web.json_response({"text": shown(reply), "failed": isinstance(reply, Failure)})


def split(line: str) -> list[bytes]:
    r"""Words as in a shell; in double quotes also \n and \x00. Raises ValueError."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars="")
    lexer.whitespace_split, lexer.commenters = True, ""
    lexer.quotes = "\"'"
    words = []
    for word in lexer:
        if len(word) > 1 and word[0] == word[-1] == '"':
            words.append(forms.parse_escaped(word[1:-1]))
        elif len(word) > 1 and word[0] == word[-1] == "'":
            words.append(word[1:-1].encode())
        else:
            words.append(word.encode("utf-8", "surrogateescape"))
    if len(words) > WORDS:
        raise ValueError(f"a line has up to {WORDS} words")
    return words


async def _check(request: web.Request, session: Session, words: list[bytes]) -> None:
    """Refuse what does not belong here; raises `Refused`."""
    name = words[0].decode("utf-8", "replace").lower()
    sub = f"{name}|{words[1].decode('utf-8', 'replace').lower()}" if len(words) > 1 else name
    if name in NEVER or sub in NEVER:
        raise Refused(f"{name.upper()} is for redis-cli: it changes the connection, or waits")
    flags = await _flags(session, name, sub)
    if "blocking" in flags:
        raise Refused(f"{name.upper()} is for redis-cli: it may wait")
    if request.app[CONSOLE].settings.writes:
        return
    is_safe = "readonly" in flags or ((name in READS or sub in READS) and sub not in RESETS)
    if not is_safe:
        raise Refused("this console only reads: it was started without --write")


async def _flags(session: Session, name: str, sub: str) -> set[str]:
    """The flags of a command, and of its subcommand if it is one; nothing for an unknown one."""
    replies = await session.client.pipeline([("COMMAND", "INFO", name), ("COMMAND", "INFO", sub)])
    found: set[str] = set()
    for reply in replies[:1] if name == sub else replies[1:] + replies[:1]:
        if not isinstance(reply, Failure) and reply and reply[0]:
            found |= {
                str(flag, "utf-8") if isinstance(flag, bytes) else str(flag) for flag in reply[0][2]
            }
            break
    return found


def shown(reply: Any) -> str:
    """A reply as redis-cli shows it, by its beginning if it is long."""
    lines: list[str] = []
    _show(reply, "", lines)
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"… and {len(lines) - LINES:,} lines more"]
    return "\n".join(lines)


def _show(reply: Any, indent: str, lines: list[str]) -> None:
    if isinstance(reply, Failure):
        lines.append(f"(error) {reply}")
    elif reply is None:
        lines.append("(nil)")
    elif isinstance(reply, bool | int | float):
        lines.append(f"(integer) {reply}")
    elif isinstance(reply, bytes):
        lines.extend(_text(reply, is_whole=not indent))
    elif not reply:
        lines.append("(empty array)")
    else:
        width = len(str(len(reply)))
        for number, one in enumerate(reply[: LINES + 1], 1):
            inner: list[str] = []
            _show(one, indent + " " * (width + 2), inner)
            lines.append(f"{number:>{width}}) {inner[0]}")
            lines.extend(" " * (width + 2) + line for line in inner[1:])
        if len(reply) > LINES + 1:
            lines.append(f"… of {len(reply):,} elements")


def _text(raw: bytes, *, is_whole: bool) -> list[str]:
    """Text of several lines as it stands, if nothing is around it."""
    if is_whole and b"\n" in raw and forms.is_plain(raw.replace(b"\r", b"")):
        return raw.decode().splitlines()
    return ['"' + forms.short(raw, LINE_BYTES).replace('"', '\\"') + '"']


async def commands(request: web.Request) -> web.Response:
    """Names of all commands and subcommands, for completion, and what was typed before."""
    session = session_of(request)
    (reply,) = await session.client.pipeline([("COMMAND", "LIST")])
    names = sorted({} if isinstance(reply, Failure) else {_name(one) for one in reply})
    return web.json_response({"commands": names, "history": list(session.history)})


def _name(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("|", " ").upper()


async def docs(request: web.Request) -> web.Response:
    """What COMMAND DOCS says of one."""
    name = request.query.get("name", "").lower().replace(" ", "|")[:100]
    (reply,) = await session_of(request).client.pipeline([("COMMAND", "DOCS", name)])
    if isinstance(reply, Failure) or not reply:
        return web.json_response({"summary": "", "syntax": ""})
    told = dict(zip(reply[1][::2], reply[1][1::2], strict=True))
    summary = told.get(b"summary", b"").decode("utf-8", "replace")
    return web.json_response({"summary": summary, "syntax": syntax(told.get(b"arguments", []))})


def syntax(arguments: list[Any]) -> str:
    """Arguments in the usual notation."""
    return " ".join(_argument(dict(zip(one[::2], one[1::2], strict=True))) for one in arguments)


def _argument(told: dict[bytes, Any]) -> str:
    flags = {_raw(flag) for flag in told.get(b"flags", [])}
    inner = [
        _argument(dict(zip(one[::2], one[1::2], strict=True))) for one in told.get(b"arguments", [])
    ]
    name = _raw(told.get(b"display_text", told.get(b"name", b"")))
    text = (" | " if told.get(b"type") == b"oneof" else " ").join(inner) if inner else name
    if told.get(b"type") == b"pure-token":
        text = ""
    token = _raw(told.get(b"token", b""))
    text = " ".join(part for part in (token, text) if part)
    if "multiple" in flags:
        text = f"{text} [{text} ...]"
    return (
        f"[{text}]"
        if "optional" in flags
        else f"<{text}>"
        if told.get(b"type") == b"oneof"
        else text
    )


def _raw(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


ROUTES: Final = [
    web.get("/prompt", show),
    web.post("/api/prompt", run),
    web.get("/api/commands", commands),
    web.get("/api/docs", docs),
]
