"""How a key is stored: its meta byte by byte, its rows, its tier's entry, the policy, and a way to
another encode-version.
"""

import re
from typing import Final

from aiohttp import web

from stratakv.console import forms
from stratakv.console.frame import card, choices, facts, field, form, page, session_of
from stratakv.console.gate import needs_writes
from stratakv.console.markup import Markup, Node, el
from stratakv.console.pages.key_facts import Key, find, gone, head, may, place_of
from stratakv.console.pages.keys import key_address
from stratakv.console.replies import Failure, Refused
from stratakv.console.sessions import Session
from stratakv.console.values import Place
from stratakv.console.walks import escape_glob

HEADER: Final = (
    (1, "encode-version", "the form of the rows; 0 is the plain one"),
    (1, "key-type", "string, hash, list, set, sorted set or stream"),
    (8, "key-version", "given at creation: rows of a deleted key never come back"),
    (8, "expire-ms", "when it expires, in ms since 1970; ff… is never"),
)
"""The first bytes of a meta; what is behind them depends on the type (docs/encodings.md)."""
KINDS: Final = {
    "m#": "meta",
    "s#": "element",
    "k#": "order",
    "i#": "long member",
    "e#": "expiry",
}
VERSIONS: Final = {"hash": 3, "set": 3, "zset": 3}
_LINE = re.compile(r"^('.*'(?:\.\.\. \(\d+ bytes\))?) -> (.*)$", re.DOTALL)
_SIZE = re.compile(r"^  (\w#) rows: (\d+) bytes in tables$")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


async def show(request: web.Request) -> web.Response:
    """The page."""
    session, place = session_of(request), place_of(request)
    key = await find(session, place)
    if key is None:
        return gone(request, place)
    lines = [
        _text(one) for one in await session.client.call("STRATA", "INSPECT", place.key, db=place.db)
    ]
    return page(
        request,
        "Key",
        head(request, key, "/rows", session),
        _meta(lines),
        _rows(lines[1:]),
        await _policy(session, place),
        await _reencode(request, session, key),
    )


def _text(line: bytes) -> str:
    """A line; bytes that are no text stand in it as they are."""
    return line.decode("latin-1")


def unquoted(text: str) -> bytes:
    """The bytes of what is shown in quotes."""
    inner = text[1 : text.rindex("'")]
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), inner).encode("latin-1")


def _meta(lines: list[str]) -> Node:
    """The meta's bytes, each group with its name and meaning."""
    match = _LINE.match(lines[0]) if lines else None
    if match is None:
        return None
    row, raw = match[1], unquoted(match[2])
    told = dict(
        line.strip().partition(": ")[::2]
        for line in lines[1:]
        if line.startswith("  ") and ": " in line
    )
    parts: list[Node] = []
    at = 0
    for number, (size, name, meaning) in enumerate(HEADER):
        value = told.get({"key-type": "type", "key-version": "version"}.get(name, name), "")
        parts.append(_bytes(raw[at : at + size], name, value, meaning, number))
        at += size
    if raw[at:]:
        value = told.get("extra", told.get("value", ""))
        parts.append(
            _bytes(
                raw[at:],
                "extra",
                value,
                "the value of a string, the count or the ends of a collection",
                4,
            )
        )
    return card(
        "Meta",
        el("p", "One row says what the key is: ", el("code", row_text(row)), class_="hint"),
        el("div", parts, class_="meta"),
    )


def _bytes(raw: bytes, name: str, value: str, meaning: str, number: int) -> Markup:
    digits = " ".join(f"{byte:02x}" for byte in raw[:32]) + (" …" if len(raw) > 32 else "")
    return el(
        "div",
        el("code", digits, class_="digits"),
        el("b", name),
        el("span", value, class_="meant"),
        el("small", meaning),
        class_=f"part c{number}",
    )


def row_text(quoted: str) -> str:
    """A row in escaped form, as keys are shown."""
    return forms.escaped(unquoted(quoted)) + quoted[quoted.rindex("'") + 1 :]


def _rows(lines: list[str]) -> Node:
    found: list[list[Node]] = []
    more: list[str] = []
    for line in lines:
        match = _LINE.match(line)
        if match is not None:
            name = unquoted(match[1])
            kind = KINDS.get(name[:2].decode("latin-1"), "tier")
            value = row_text(match[2]) if match[2].startswith("'") else match[2]
            found.append(
                [
                    el("span", kind, class_="badge"),
                    el("code", row_text(match[1])),
                    el("code", value),
                ]
            )
        elif line.startswith("  and more"):
            more.append(line.strip())
    if not found:
        return card(
            "Rows", el("p", "The meta holds all of it: there are no other rows.", class_="empty")
        )
    rest = el("p", "; ".join(more), class_="hint") if more else None
    names = el(
        "p",
        "The name of a row: its kind and database, eight bytes of the key's hash, the key with its"
        " length, the key-version, and the field, member, score or place.",
        class_="hint",
    )
    return card("Rows", names, _sizes(lines), table_of(found), rest)


def _sizes(lines: list[str]) -> Markup:
    """What the engine takes for each range of the key's rows."""
    told = [
        f"{KINDS.get(match[1], match[1])} rows {forms.size(int(match[2]))}"
        for match in map(_SIZE.match, lines)
        if match is not None
    ]
    text = (
        f"In the engine's tables, roughly: {', '.join(told)}."
        if told
        else "The engine's tables have next to nothing of them: few rows, or written lately."
    )
    return el("p", text, class_="hint")


def table_of(found: list[list[Node]]) -> Markup:
    """Rows with their kind."""
    body = [el("tr", [el("td", cell) for cell in row]) for row in found]
    heads = el("tr", [el("th", name, scope="col") for name in ("Kind", "Row", "Value")])
    return el(
        "div", el("table", el("thead", heads), el("tbody", body), class_="rows"), class_="wide"
    )


async def _policy(session: Session, place: Place) -> Node:
    """Which policy applies, and what it says."""
    (reply,) = await session.client.pipeline(
        [("STRATA", "POLICY", "EXPLAIN", place.key)], db=place.db
    )
    if isinstance(reply, Failure):
        return card("Policy", el("p", str(reply), class_="empty"))
    told = {_text(name): value for name, value in zip(reply[::2], reply[1::2], strict=True)}
    rule = _text(told.pop("rule", b""))
    pairs: list[tuple[str, Node]] = [
        (name, forms.escaped(value) if isinstance(value, bytes) else str(value))
        for name, value in told.items()
    ]
    return card("Policy", el("p", rule), facts(pairs))


async def _reencode(request: web.Request, session: Session, key: Key) -> Node:
    """A form, and how far the last one is."""
    (reply,) = await session.client.pipeline([("STRATA", "PROGRESS")])
    content: list[Node] = []
    if not isinstance(reply, Failure):
        told = dict(zip(reply[::2], reply[1::2], strict=True))
        if told.get(b"pattern") is not None:
            content.append(_progress(told))
    allowed = await may(request, session, ("STRATA", "REENCODE", key.place.key, 0))
    if allowed and key.type in VERSIONS:
        versions = {str(n): f"version {n}" for n in range(VERSIONS[key.type] + 1)}
        now = key.stored_as.rpartition("v")[2]
        content.append(
            form(
                session,
                "/rows/reencode",
                key.fields,
                field("Encode-version", choices("version", versions, now)),
                el("button", "Re-encode"),
                class_="finder",
            )
        )
    return card("Re-encode", content) if content else None


def _progress(told: dict[bytes, object]) -> Markup:
    is_running = told.get(b"running") == 1
    pattern = told[b"pattern"]
    shown = forms.short(pattern) if isinstance(pattern, bytes) else "?"
    counts = f"{told[b'keys-seen']} keys seen, {told[b'keys-changed']} changed"
    text = f"to version {told[b'version']}: {counts}, {told[b'keys-failed']} failed"
    state = "under way" if is_running else "done"
    return el(
        "p",
        el("code", shown),
        f" {text} ({state})",
        class_="progress",
        data_refresh="1" if is_running else None,
    )


async def reencode(request: web.Request) -> web.StreamResponse:
    """Begin."""
    session, sent = session_of(request), await request.post()
    place = Place(int(str(sent.get("db", "0"))), forms.parse_escaped(str(sent.get("key", ""))))
    await session.client.call(
        "STRATA", "REENCODE", escape_glob(place.key), str(sent.get("version", "")), db=place.db
    )
    session.notes.append(("good", "Re-encoding has begun."))
    return web.HTTPSeeOther(key_address(place.db, place.key, "/rows"))


async def refuse_redis(request: web.Request) -> web.Response:
    """A plain Redis has no rows."""
    if not session_of(request).peer.is_strata:
        raise Refused("a plain Redis has no rows to show")
    return await show(request)


ROUTES: Final = [
    web.get("/rows", refuse_redis),
    web.post("/rows/reencode", needs_writes(reencode)),
]
