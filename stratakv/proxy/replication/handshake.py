"""What a replica and its master say to each other before the stream: lines, asked and answered."""

import asyncio
from typing import NamedTuple

from stratakv.encodings.layout.positions import Position
from stratakv.options import Options
from stratakv.proxy.wire.packing import request
from stratakv.storage.cache.address import Address, parse_address

LONGEST_LINE = 1 << 16


class LinkFailed(Exception):
    """The link to the master cannot be used; the text says why, for the log and INFO."""


class Answer(NamedTuple):
    """What a master says to PSYNC: a full sync from a place on, or that it goes on."""

    is_full: bool
    id: bytes
    offset: int


def address_of(text: str) -> Address:
    """Where the master is that the option `replicaof` names."""
    if "://" in text:
        return parse_address(text)
    host, port = text.split()
    return Address(host=host, port=int(port))


class Handshake:
    """One introduction to a master."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: Address,
        options: Options,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._address = address
        self._options = options

    async def introduce(self, port: int) -> None:
        """Say who we are, and how we can be reached."""
        reply = await self._ask(b"PING")
        if reply.startswith(b"-") and not reply.startswith((b"-NOAUTH", b"-NOPERM", b"-ERR oper")):
            raise LinkFailed(f"the master answers PING with: {_shown(reply)}")
        await self._authenticate()
        options = self._options
        await self._tell(b"listening-port", b"%d" % (options.replica_announce_port or port))
        if options.replica_announce_ip:
            await self._tell(b"ip-address", options.replica_announce_ip.encode())
        await self._tell(b"capa", b"eof", b"capa", b"psync2", b"capa", b"namespaces")

    async def _authenticate(self) -> None:
        user = self._options.masteruser or self._address.user
        password = self._options.masterauth or self._address.password
        if not password:
            return
        words = [b"AUTH", *([user.encode()] if user else []), password.encode()]
        reply = await self._ask(*words)
        if not reply.startswith(b"+"):
            raise LinkFailed(f"Unable to AUTH to MASTER: {_shown(reply)}")

    async def _tell(self, *words: bytes) -> None:
        """REPLCONF; what an old master does not understand does not matter."""
        reply = await self._ask(b"REPLCONF", *words)
        if reply.startswith((b"-NOAUTH", b"-NOPERM")):
            raise LinkFailed(f"the master refuses us: {_shown(reply)}")

    async def ask_for_stream(self, position: Position | None, *, takes_over: bool) -> Answer:
        """PSYNC: go on from a place, or begin with everything.

        `takes_over`: the other side is to be the master from now on (FAILOVER).
        """
        if position is None:
            reply = await self._ask(b"PSYNC", b"?", b"-1")
        else:
            words = [b"PSYNC", position.id, b"%d" % (position.offset + 1)]
            reply = await self._ask(*words, *([b"FAILOVER"] if takes_over else []))
        said = reply.split()
        if said[0] == b"+CONTINUE" and position is not None:
            return Answer(False, said[1] if len(said) > 1 else position.id, position.offset)
        if said[0] == b"+FULLRESYNC" and len(said) == 3 and said[2].lstrip(b"-").isdigit():
            return Answer(True, said[1], int(said[2]))
        if takes_over:
            raise LinkFailed(f"Failover target rejected psync request: {_shown(reply)}")
        raise LinkFailed(f"the master answers PSYNC with: {_shown(reply)}")

    async def dump_header(self) -> tuple[int, bytes]:
        """(length, nothing) or (0, mark) of the dump that follows."""
        line = await self.line()
        if line.startswith(b"$EOF:") and len(line) == 45:
            return 0, line[5:]
        if line.startswith(b"$") and line[1:].isdigit():
            return int(line[1:]), b""
        raise LinkFailed(f"instead of a dump the master sends: {_shown(line)}")

    async def _ask(self, *words: bytes) -> bytes:
        self._writer.write(request(*words))
        return await self.line()

    async def line(self) -> bytes:
        """The next line that is not empty: empty ones are signs of life."""
        while True:
            try:
                async with asyncio.timeout(self._options.repl_timeout):
                    line = await self._reader.readuntil(b"\n")
            except TimeoutError:
                raise LinkFailed("the master is silent") from None
            except asyncio.IncompleteReadError:
                raise LinkFailed("the master has closed the connection") from None
            except asyncio.LimitOverrunError:
                raise LinkFailed("the master sends no lines") from None
            if line := line.rstrip(b"\r\n"):
                return line


def _shown(line: bytes) -> str:
    """A line of a master as a log may show it."""
    return ascii(line[:200].decode("latin-1"))[1:-1]
