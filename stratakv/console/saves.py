"""A value that takes another's place only while that is the one from which the form was made.

WATCH belongs to a connection, and all requests of a session share one: so each save has its own.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from stratakv.console.client import Client
from stratakv.console.replies import Failure, Refused, Word
from stratakv.console.values import Place

FIELD: Final = "made-from"
"""What a form carries: the digest of the value that it was made from."""
CHANGED: Final = (
    "nothing was saved: somebody has changed the value since this form was opened. "
    "Go back to see what you typed, and open the key again to see what is there now"
)
Current = Callable[[Client], Awaitable[bytes | None]]
"""Reads the value as it is now; None if there is none."""


def digest(value: bytes | None) -> str:
    """Tells one value from another, and from none."""
    return "none" if value is None else hashlib.sha256(value).hexdigest()


async def replace(
    client: Client,
    place: Place,
    made_from: str,
    commands: Sequence[Sequence[Word]],
    current: Current,
) -> Any:
    """Send commands that write, and return the last reply; `Refused` if the value has changed."""
    own = Client(client.address, client.login)
    try:
        await own.call("WATCH", place.key, db=place.db)
        if digest(await current(own)) != made_from:
            raise Refused(CHANGED)
        return _reply(await own.pipeline([("MULTI",), *commands, ("EXEC",)], db=place.db))
    finally:
        own.close()


def _reply(told: list[Any]) -> Any:
    """The last command's own reply, out of a transaction's."""
    done = told[-1]
    if done is None:
        raise Refused(CHANGED)
    replies = [*told[:-1], *(done if isinstance(done, list) else [done])]
    for reply in replies:
        if isinstance(reply, Failure):
            raise Refused(str(reply))
    return replies[-1]
