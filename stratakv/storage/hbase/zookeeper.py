"""Where an HBase begins: its ZooKeeper knows which servers have the meta table and the master.

kazoo has threads of its own; what they find is handed to the loop. Nothing here waits in the loop.
"""

import asyncio
import logging
import re
from dataclasses import dataclass
from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError, NoNodeError

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.errors import HBaseError, Unreachable, Unsupported
from stratakv.storage.hbase.kazoo_threads import result_of
from stratakv.storage.hbase.servers import Server

PORT: Final = 2181
ZNODE: Final = "/hbase"
MAGIC: Final = b"PBUF"
SESSION_SECONDS: Final = 10.0

_HOST = re.compile(r"(?:\[[0-9a-fA-F:]+\]|[\w.-]+)(?::\d{1,5})?", re.ASCII)

M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True)
class Address:
    """`host:port,host:port/znode`: the servers of a ZooKeeper, and where HBase keeps its things."""

    hosts: tuple[str, ...]
    znode: str = ZNODE

    def __str__(self) -> str:
        return ",".join(self.hosts) + ("" if self.znode == ZNODE else self.znode)


def parse_address(text: str) -> Address:
    """Read an address; raises `Unsupported` for credentials and ValueError for nonsense."""
    if "@" in text:
        raise Unsupported(
            "the ZooKeeper address has credentials in it: StrataKV works with an HBase without "
            "authentication only, reached over a network that is trusted"
        )
    if "://" in text:
        raise Unsupported(
            f"{text.partition('://')[0]}:// is not supported: a ZooKeeper is named as "
            "host:port,host:port, and reached without TLS"
        )
    names, slash, znode = text.partition("/")
    hosts = [name.strip() for name in names.split(",")]
    if not all(_HOST.fullmatch(name) for name in hosts):
        raise ValueError(f"{text!r} is not a ZooKeeper address: host:port,host:port")
    with_ports = (name if re.search(r":\d+$", name) else f"{name}:{PORT}" for name in hosts)
    return Address(tuple(with_ports), "/" + znode.rstrip("/") if slash else ZNODE)


class ZooKeeper:
    """A session that is kept; what it is asked for it tells as of now."""

    def __init__(self, address: Address, *, seconds: float) -> None:
        self._address = address
        self._seconds = seconds
        self._client = KazooClient(
            ",".join(address.hosts), timeout=SESSION_SECONDS, logger=quiet_logger()
        )
        self._is_started = False

    async def meta(self) -> Server:
        """Which server has the meta table; raises `Unreachable`."""
        return _server(_decode(await self._read("meta-region-server"), pb.MetaRegionServer).server)

    async def master(self) -> Server:
        """Which server is the master; raises `Unreachable`."""
        return _server(_decode(await self._read("master"), pb.Master).master)

    async def _read(self, name: str) -> bytes:
        """The bytes of a node below HBase's."""
        path = f"{self._address.znode}/{name}"
        if not self._is_started:
            self._is_started = True
            self._client.start_async()
        try:
            async with asyncio.timeout(self._seconds):
                value, _ = await result_of(self._client.get_async(path))
        except TimeoutError as error:
            raise Unreachable(f"no answer from ZooKeeper at {self._address}") from error
        except NoNodeError as error:
            raise Unreachable(
                f"{path} is not in the ZooKeeper at {self._address}: HBase does not run there, "
                "has not begun yet, or uses another znode (host:port/znode names it)"
            ) from error
        except NoAuthError as error:
            raise Unsupported(
                f"the ZooKeeper at {self._address} does not let us read {path}: it belongs to a "
                "secured HBase, which StrataKV does not support"
            ) from error
        except KazooException as error:
            raise Unreachable(f"ZooKeeper at {self._address}: {error!r}") from error
        return bytes(value)

    async def close(self) -> None:
        """End the session; kazoo waits for its threads, so a thread waits for kazoo."""
        if self._is_started:
            await asyncio.to_thread(self._client.stop)
        await asyncio.to_thread(self._client.close)


def _decode(data: bytes, kind: type[M]) -> M:
    """HBase's own prefix of its nodes (ff, u32 length, an id), a magic word, a message."""
    try:
        if data[:1] == b"\xff":
            data = data[5 + int.from_bytes(data[1:5], "big") :]
        if not data.startswith(MAGIC):
            raise ValueError("not of HBase")
        return kind.FromString(data[len(MAGIC) :])
    except (DecodeError, ValueError) as error:
        raise HBaseError(f"ZooKeeper has no {kind.__name__} of an HBase: {error}") from error


def _server(name: pb.ServerName) -> Server:
    return Server(name.host_name, name.port)


def quiet_logger() -> logging.Logger:
    """kazoo tells of every attempt to connect: who waits for an answer is told by an error."""
    logger = logging.getLogger("stratakv.kazoo")
    logger.setLevel(logging.CRITICAL)
    return logger
