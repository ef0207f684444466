"""A client of the server: one connection, made when it is needed and again when it was lost."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stratakv.console.replies import Away, Connection, Failure, Refused, Word
from stratakv.storage.cache.address import Address

CONNECT_SECONDS: Final = 5.0
REPLY_SECONDS: Final = 30.0
NAME: Final = "stratakv-console"


@dataclass(frozen=True, slots=True)
class Login:
    """Who speaks to the server; without a password nothing is said."""

    user: str = ""
    password: str = ""

    def words(self) -> list[Word]:
        """AUTH with its arguments."""
        return ["AUTH", *([self.user] if self.user else []), self.password]


class Client:
    """A server as a user sees it."""

    def __init__(self, address: Address, login: Login, seconds: float = REPLY_SECONDS) -> None:
        self.address = address
        self.login = login
        self._seconds = seconds
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    async def call(self, *words: Word, db: int | None = None) -> Any:
        """The reply to one command; raises `Refused` if it is an error."""
        (reply,) = await self.pipeline([words], db=db)
        if isinstance(reply, Failure):
            raise Refused(str(reply))
        return reply

    async def pipeline(
        self, commands: Sequence[Sequence[Word]], *, db: int | None = None
    ) -> list[Any]:
        """The replies to some commands that are sent together; errors are among them.

        Raises `Away` without a server, `Refused` if the database cannot be selected.
        """
        connection = await self._connected()
        chosen = db is not None and db != connection.database
        sent = [("SELECT", db), *commands] if chosen and db is not None else list(commands)
        futures = connection.send(sent)
        if chosen and db is not None:
            connection.database = db
        replies = await self._replies(connection, futures)
        if chosen and isinstance(failure := replies.pop(0), Failure):
            connection.end("no database is selected")
            raise Refused(str(failure))
        return replies

    async def _replies(
        self, connection: Connection, futures: list["asyncio.Future[Any]"]
    ) -> list[Any]:
        try:
            async with asyncio.timeout(self._seconds):
                return [await future for future in futures]
        except TimeoutError:
            connection.end(f"no reply within {self._seconds:.0f} s")
            raise Away(connection.reason) from None

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None or not self._connection.is_open:
                self._connection = await connect(self.address, self.login)
            return self._connection

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.end("closed")
            self._connection = None


async def connect(address: Address, login: Login) -> Connection:
    """A connection as a user; raises `Away` without a server, `Refused` for a wrong password."""
    loop = asyncio.get_running_loop()
    try:
        context = address.tls_context()
        async with asyncio.timeout(CONNECT_SECONDS):
            if address.path:
                _, made = await loop.create_unix_connection(Connection, address.path)
            else:
                _, made = await loop.create_connection(
                    Connection, address.host, address.port, ssl=context
                )
    except TimeoutError:
        raise Away(f"{place_of(address)} does not answer") from None
    except OSError as error:
        raise Away(f"{place_of(address)}: {error.strerror or error}") from None
    try:
        await _greet(made, login)
    except BaseException:
        made.end("not let in")
        raise
    return made


async def _greet(connection: Connection, login: Login) -> None:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            if login.password:
                (future,) = connection.send([login.words()])
                if isinstance(reply := await future, Failure):
                    raise Refused(str(reply))
            # Who may not name itself is not named.
            (future,) = connection.send([("CLIENT", "SETNAME", NAME)])
            await future
    except TimeoutError:
        raise Away("the server does not answer") from None


async def lets_anybody_in(address: Address) -> bool:
    """Whether the server answers without a password; raises `Away` if it cannot be asked."""
    connection = await connect(address, Login())
    try:
        (future,) = connection.send([("PING",)])
        async with asyncio.timeout(CONNECT_SECONDS):
            return not isinstance(await future, Failure)
    except TimeoutError:
        raise Away("the server does not answer") from None
    finally:
        connection.end("asked")


def place_of(address: Address) -> str:
    """The server's address without user and database, as people know it."""
    if address.path:
        return address.path
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"
