"""What changes a key. Deleting, renaming, expiring and removing ask once more.

Rights are the server's affair: a user without them gets its words.
"""

import secrets
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from aiohttp import web

from stratakv.console import forms, saves, values
from stratakv.console.client import Client
from stratakv.console.frame import card, form, hidden, page, session_of
from stratakv.console.gate import needs_writes
from stratakv.console.markup import el
from stratakv.console.pages.key import place_after
from stratakv.console.pages.keys import key_address
from stratakv.console.pages.string_value import EDITED
from stratakv.console.replies import Refused, Word
from stratakv.console.sessions import Session
from stratakv.console.values import Place
from stratakv.console.walks import TYPES

T = TypeVar("T")
Fields = dict[str, str]
Action = Callable[[Session, Place, Fields], Awaitable[str]]
"""Changes a key and says what was done."""


def handler(
    action: Action, question: str = ""
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler of a form; with a question, it asks first."""

    async def handle(request: web.Request) -> web.StreamResponse:
        session = session_of(request)
        fields = {name: str(value) for name, value in (await request.post()).items()}
        place = Place(int(fields.get("db", "0")), forms.parse_escaped(fields.get("key", "")))
        if question and fields.pop("sure", "") != "yes":
            return _ask(request, session, place, question, fields)
        told = await action(session, place, fields)
        session.notes.append(("good", told))
        after = Place(place.db, forms.parse_escaped(fields["to"])) if "to" in fields else place
        return web.HTTPSeeOther(await place_after(session.client, after))

    return needs_writes(handle)


def _ask(
    request: web.Request, session: Session, place: Place, question: str, fields: Fields
) -> web.Response:
    known = {
        name: forms.short(forms.parse_escaped(value), 80)
        for name, value in fields.items()
        if name in ("to", "name")
    }
    text = question.format(seconds=fields.get("seconds", ""), **{"to": "", "name": ""} | known)
    kept = {name: value for name, value in fields.items() if name != "token"}
    content = [
        el("p", text),
        el("p", el("code", forms.short(place.key)), f" in database {place.db}"),
        el(
            "div",
            form(
                session,
                request.path,
                hidden(**kept),
                hidden(sure="yes"),
                el("button", "Yes", class_="danger primary", autofocus=True),
            ),
            el("a", "No", href=key_address(place.db, place.key), class_="button"),
            class_="actions",
        ),
    ]
    return page(request, "Are you sure?", card("", content, class_="confirm"))


def _value(fields: Fields, name: str = "value") -> bytes:
    """What was typed; a form sends each end of a line as two characters."""
    text = fields.get(name, "").replace("\r\n", "\n")
    return forms.parse_escaped(text) if fields.get("form") == "escaped" else text.encode()


def _made_from(fields: Fields) -> str:
    if saves.FIELD not in fields:
        raise ValueError("the form does not say from which value it was made")
    return fields[saves.FIELD]


def _name(fields: Fields) -> bytes:
    return forms.parse_escaped(fields.get("name", ""))


async def _change(session: Session, place: Place, *words: Word) -> object:
    return await session.client.call(*words, db=place.db)


async def save(session: Session, place: Place, fields: Fields) -> str:
    """A string; only one that is there, and it keeps its time to live."""
    words: tuple[Word, ...] = ("SET", place.key, _value(fields), "XX", "KEEPTTL")
    words = _for_type({b"string": words}, await _type(session, place))

    async def current(client: Client) -> bytes:
        return await values.beginning(client, place, EDITED + 1)

    if await saves.replace(session.client, place, _made_from(fields), [words], current) is None:
        raise Refused("the key is gone")
    return "Saved."


async def put(session: Session, place: Place, fields: Fields) -> str:
    """One element of a hash, list or sorted set."""
    name, value = _name(fields), _value(fields)
    kind = await _type(session, place)
    words: dict[bytes, tuple[Word, ...]] = {
        b"hash": ("HSET", place.key, name, value),
        b"list": ("LSET", place.key, name, value),
        b"zset": ("ZADD", place.key, "XX", value.strip(), name),
    }

    async def current(client: Client) -> bytes | None:
        return await values.element(client, place, kind.decode(), name)

    chosen = _for_type(words, kind)
    await saves.replace(session.client, place, _made_from(fields), [chosen], current)
    return "Saved."


async def add(session: Session, place: Place, fields: Fields) -> str:
    """An element more."""
    value, kind = _value(fields), await _type(session, place)
    name = fields.get("name", "").encode()
    push = "LPUSH" if fields.get("end") == "left" else "RPUSH"
    words: dict[bytes, tuple[Word, ...]] = {
        b"hash": ("HSET", place.key, name, value),
        b"list": (push, place.key, value),
        b"set": ("SADD", place.key, value),
        b"zset": ("ZADD", place.key, value.strip(), name),
        b"stream": ("XADD", place.key, "NOMKSTREAM", "*", name, value),
    }
    await _change(session, place, *_for_type(words, kind))
    return "Added."


async def create(session: Session, place: Place, fields: Fields) -> str:
    """A key of a name that no key has yet."""
    if await _type(session, place) != b"none":
        raise Refused("there is a key of that name")
    value, name = _value(fields), _name(fields)
    words: dict[bytes, tuple[Word, ...]] = {
        b"string": ("SET", place.key, value),
        b"hash": ("HSET", place.key, name, value),
        b"list": ("RPUSH", place.key, value),
        b"set": ("SADD", place.key, value),
        b"zset": ("ZADD", place.key, value.strip(), name),
        b"stream": ("XADD", place.key, "*", name, value),
    }
    kind = fields.get("type", "").encode()
    if kind not in words:
        raise ValueError(f"type: one of {', '.join(TYPES)}")

    async def current(client: Client) -> bytes | None:
        return await client.call("EXISTS", place.key, db=place.db) or None

    await saves.replace(session.client, place, saves.digest(None), [words[kind]], current)
    return "Made."


async def drop(session: Session, place: Place, fields: Fields) -> str:
    """An element less."""
    kind = await _type(session, place)
    if kind == b"list":
        return await _drop_at(session, place, fields)
    commands = {b"hash": "HDEL", b"set": "SREM", b"zset": "ZREM", b"stream": "XDEL"}
    done = await _change(session, place, _for_type(commands, kind), place.key, _name(fields))
    return "Removed." if done else "It was gone already."


async def _drop_at(session: Session, place: Place, fields: Fields) -> str:
    """The element at an index, if it is still the one that was shown.

    There is no command for that: it is given a value that no other has, and that is removed.
    """
    index, mark = _name(fields), secrets.token_bytes(32)

    async def current(client: Client) -> bytes | None:
        return await values.element(client, place, "list", index)

    commands: list[tuple[Word, ...]] = [
        ("LSET", place.key, index, mark),
        ("LREM", place.key, 1, mark),
    ]
    await saves.replace(session.client, place, _made_from(fields), commands, current)
    return "Removed."


async def rename(session: Session, place: Place, fields: Fields) -> str:
    """Another name, that no key has yet."""
    if not await _change(
        session, place, "RENAMENX", place.key, forms.parse_escaped(fields.get("to", ""))
    ):
        raise Refused("there is a key of that name")
    return "Renamed."


async def expire(session: Session, place: Place, fields: Fields) -> str:
    """Some seconds to live."""
    seconds = fields.get("seconds", "").strip()
    if not seconds.isdecimal() or int(seconds) == 0:
        raise ValueError("the seconds to live are a number above 0")
    await _change(session, place, "EXPIRE", place.key, seconds)
    return f"It expires in {forms.duration(int(seconds))}."


async def persist(session: Session, place: Place, fields: Fields) -> str:
    """No time to live."""
    await _change(session, place, "PERSIST", place.key)
    return "It stays for ever."


async def delete(session: Session, place: Place, fields: Fields) -> str:
    """The key is gone."""
    done = await _change(session, place, "UNLINK", place.key)
    return f"Deleted {forms.short(place.key, 80)}." if done else "It was gone already."


async def _type(session: Session, place: Place) -> bytes:
    found = await _change(session, place, "TYPE", place.key)
    return found if isinstance(found, bytes) else b""


def _for_type(words: dict[bytes, T], kind: bytes) -> T:
    if kind not in words:
        raise Refused("the key is gone" if kind == b"none" else "the key has another type by now")
    return words[kind]


ROUTES: Final = [
    web.post("/key/set", handler(save)),
    web.post("/key/put", handler(put)),
    web.post("/key/add", handler(add)),
    web.post("/key/new", handler(create)),
    web.post("/key/drop", handler(drop, "Remove “{name}” from this key?")),
    web.post("/key/rename", handler(rename, "Rename this key to “{to}”?")),
    web.post("/key/expire", handler(expire, "Let this key expire in {seconds} seconds?")),
    web.post("/key/persist", handler(persist)),
    web.post("/key/delete", handler(delete, "Delete this key?")),
]
