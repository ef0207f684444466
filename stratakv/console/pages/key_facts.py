"""What is known of a key before its value is read, and what is around each of its views."""

from dataclasses import dataclass

from aiohttp import web

from stratakv.console import forms, values
from stratakv.console.frame import (
    CONSOLE,
    address,
    card,
    facts,
    hidden,
    number,
    page,
    raw,
    type_badge,
)
from stratakv.console.markup import Markup, Node, el
from stratakv.console.pages.keys import key_address
from stratakv.console.replies import Failure
from stratakv.console.sessions import Session
from stratakv.console.values import Place
from stratakv.console.walks import SIZES


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key before its value is read."""

    place: Place
    type: str
    ttl_ms: int | None
    encoding: str
    size: int | None
    """Bytes, as the server estimates them."""
    count: int
    stored_as: str = ""

    @property
    def fields(self) -> list[Markup]:
        """For forms that change it."""
        return hidden(db=self.place.db, key=forms.escaped(self.place.key))


async def find(session: Session, place: Place) -> Key | None:
    """A key, or None if there is none."""
    name, client = place.key, session.client
    kind = (await client.call("TYPE", name, db=place.db)).decode("ascii", "replace")
    if kind == "none":
        return None
    asked: list[tuple[bytes | str | int, ...]] = [
        ("PTTL", name),
        ("OBJECT", "ENCODING", name),
        ("MEMORY", "USAGE", name, "SAMPLES", 5),
    ]
    if session.peer.is_strata:
        asked.append(("STRATA", "POLICY", "EXPLAIN", name))
    replies = [
        None if isinstance(one, Failure) else one
        for one in await client.pipeline(asked, db=place.db)
    ]
    ttl, encoding, size = replies[:3]
    told = (
        dict(zip(replies[3][::2], replies[3][1::2], strict=True))
        if replies[3:] and replies[3]
        else {}
    )
    is_known = kind.encode() in SIZES
    count = await values.length(client, place, kind) if is_known else 0
    return Key(
        place,
        kind,
        ttl,
        (encoding or b"?").decode("ascii", "replace"),
        size,
        count,
        told.get(b"stored-as", b"").decode("ascii", "replace"),
    )


def place_of(request: web.Request) -> Place:
    """Which key, and where in it."""
    return Place(
        number(request, "db", most=2**31 - 1),
        raw(request, "key"),
        raw(request, "at"),
        raw(request, "find"),
    )


def gone(request: web.Request, place: Place) -> web.Response:
    """There is no such key."""
    text = el(
        "p",
        "There is no key ",
        el("code", forms.short(place.key)),
        f" in database {place.db}.",
        class_="empty",
    )
    back = el("a", "To the keys", href=address("/keys", db=place.db or None), class_="button")
    return page(request, "Key", card("", text, back), status=404)


def head(request: web.Request, key: Key, path: str, session: Session) -> Markup:
    """Name, facts, and the ways to look at it."""
    tabs = [("/key", "Value")]
    if session.peer.is_strata:
        tabs.append(("/rows", "Layout"))
    size = "bytes" if key.type == "string" else "elements"
    pairs: list[tuple[str, Node]] = [
        ("Type", type_badge(key.type)),
        (size.capitalize(), f"{key.count:,}"),
        ("Takes", "?" if key.size is None else forms.size(key.size)),
        ("Time to live", forms.lifetime(key.ttl_ms)),
        ("Encoding", key.encoding),
        ("Stored as", key.stored_as) if key.stored_as else ("Database", key.place.db),
    ]
    up = key.place.key.rpartition(b":")[0]
    above = address(
        "/keys", db=key.place.db or None, prefix=forms.escaped(up + b":") if up else None
    )
    return el(
        "section",
        el("a", "← ", forms.short(up, 60) + ":" if up else "all keys", href=above, class_="up"),
        el("h2", forms.short(key.place.key), class_="key-name"),
        facts(pairs),
        el(
            "nav",
            [
                el(
                    "a",
                    name,
                    href=key_address(key.place.db, key.place.key, tab),
                    aria_current="true" if tab == path else None,
                )
                for tab, name in tabs
            ],
            class_="tabs",
            aria_label="Views of the key",
        ),
        class_="card key-head",
    )


async def may(
    request: web.Request, session: Session, *commands: tuple[bytes | str | int, ...]
) -> bool:
    """Whether the console and the user's rights allow all of some commands."""
    if not request.app[CONSOLE].settings.writes:
        return False
    return all(await session.peer.allows(session.client, *commands))
