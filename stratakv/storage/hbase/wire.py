"""One connection to one server of an HBase: calls go out as they come, answers come in any order.

    preamble  := "HBas" 00 50                       version 0, no authentication
    header    := u32 length, ConnectionHeader
    call      := u32 length, varint length, RequestHeader, varint length, request
    answer    := u32 length, varint length, ResponseHeader, varint length, answer

A server that wants to be rid of a connection answers to a call that nobody made (`NOBODYS`).
"""

import asyncio
from functools import partial
from time import perf_counter
from typing import Any, Final, Generic, TypeVar, cast

from google.protobuf.message import DecodeError, Message

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.errors import HBaseError, Late, Lost, RemoteError, Unsupported
from stratakv.storage.hbase.limits import Limits

PREAMBLE: Final = b"HBas\x00\x50"
USER: Final = "stratakv"
NOBODYS: Final = 0xFFFFFFFF
"""-1, in a field without a sign."""
MOST_CALLS: Final = 1 << 31

M = TypeVar("M", bound=Message)


class Call(Generic[M]):
    """Asked and not answered."""

    __slots__ = ("answer", "asked", "future", "timer")

    def __init__(self, answer: type[M], future: "asyncio.Future[M]") -> None:
        self.answer = answer
        self.future = future
        self.asked = perf_counter()
        self.timer: asyncio.TimerHandle | None = None


class Connection(asyncio.Protocol):
    """To one service of one server; when it is lost it stays so."""

    def __init__(self, place: str, service: str, limits: Limits, counters: Counters) -> None:
        self.place = place
        self.service = service
        self._limits = limits
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._calls: dict[int, Call[Any]] = {}
        self._last_id = 0
        self._out: list[bytes] = []
        self._in = bytearray()
        self._heard = 0.0
        """When something came last."""
        self._room = asyncio.Event()
        self._room.set()
        self._lost: HBaseError | None = None

    @property
    def is_lost(self) -> bool:
        """Whether it is of no use any more."""
        return self._lost is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say who we are: the server answers only if it does not like that."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass
        self._transport.set_write_buffer_limits(high=self._limits.unsent_bytes)
        header = pb.ConnectionHeader(
            user_info=pb.UserInformation(effective_user=USER), service_name=self.service
        ).SerializeToString()
        self._transport.write(PREAMBLE + len(header).to_bytes(4, "big") + header)
        self._counters.connects += 1

    # calls

    async def has_room(self) -> None:
        """Wait while too much is unsent: memory is bounded, whatever is asked."""
        await self._room.wait()

    def call(
        self, method: str, request: Message, answer: type[M], seconds: float
    ) -> "asyncio.Future[M]":
        """Ask; the future raises `Lost`, `Late` or what HBase answered instead."""
        call = Call(answer, self._loop.create_future())
        if self._lost is not None:
            call.future.set_exception(Lost(str(self._lost)))
            return call.future
        self._last_id = call_id = self._last_id % MOST_CALLS + 1
        self._calls[call_id] = call
        self._counters.calls += 1
        self._counters.waiting += 1
        call.timer = self._loop.call_later(seconds, self._is_late, call_id)
        call.future.add_done_callback(lambda future: self._abandoned(call_id, future))
        self._send(_frame(call_id, method, request, seconds))
        return call.future

    def _send(self, frame: bytes) -> None:
        """All calls of a turn of the loop leave in one write."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(frame)

    def _flush(self) -> None:
        data = b"".join(self._out)
        self._out.clear()
        if self._transport is not None and data:
            self._counters.bytes_out += len(data)
            self._transport.write(data)

    def _take(self, call_id: int) -> Call[Any] | None:
        """A call that is answered now, or never."""
        call = self._calls.pop(call_id, None)
        if call is not None:
            self._counters.waiting -= 1
            if call.timer is not None:
                call.timer.cancel()
        return call

    def _abandoned(self, call_id: int, future: "asyncio.Future[Any]") -> None:
        if future.cancelled():
            self._take(call_id)

    def _is_late(self, call_id: int) -> None:
        call = self._take(call_id)
        if call is None:
            return
        self._counters.timeouts += 1
        _fail(call, Late(f"{self.place} has not answered in time"))
        if self._heard < call.asked:
            self.lose(Lost(f"{self.place} is silent", was_sent=True))

    # answers

    def data_received(self, data: bytes) -> None:
        """Hand out the answers that are complete."""
        self._heard = perf_counter()
        self._counters.bytes_in += len(data)
        self._in += data
        try:
            self._answer_all()
        except (DecodeError, IndexError, ValueError) as error:
            self.lose(Lost(f"{self.place} does not speak as HBase does: {error}", was_sent=True))

    def _answer_all(self) -> None:
        buffer, start = self._in, 0
        while len(buffer) - start >= 4:
            length = int.from_bytes(buffer[start : start + 4], "big")
            if length > self._limits.frame_bytes:
                raise ValueError(f"an answer of {length} bytes")
            if len(buffer) - start - 4 < length:
                break
            frame = bytes(memoryview(buffer)[start + 4 : start + 4 + length])
            start += 4 + length
            self._answer(frame)
            if self._lost is not None:
                return
        del buffer[:start]

    def _answer(self, frame: bytes) -> None:
        header_bytes, rest = _delimited(frame, 0)
        header = pb.ResponseHeader.FromString(header_bytes)
        if header.call_id == NOBODYS:
            self.lose(self._dismissal(header.exception))
            return
        if header.call_id > self._last_id:
            raise ValueError(f"an answer to call {header.call_id}, which nobody made")
        call = self._calls.get(header.call_id)
        if call is None or call.future.done():
            return  # too late, or nobody waits for it any more
        if header.HasField("exception"):
            self._counters.errors += 1
            _fail(call, remote_error(header.exception))
        else:
            call.future.set_result(call.answer.FromString(_delimited(frame, rest)[0]))
        self._take(header.call_id)  # not before it has an answer: nonsense fails all that have none
        self._counters.answered(perf_counter() - call.asked)

    def _dismissal(self, told: pb.ExceptionResponse) -> HBaseError:
        error = remote_error(told)
        if error.name == "AccessDeniedException":
            return Unsupported(
                f"the HBase at {self.place} wants authentication (Kerberos or tokens), which "
                f"StrataKV does not support: {error}"
            )
        return error

    # the end

    def pause_writing(self) -> None:
        """Too much is unsent."""
        self._room.clear()

    def resume_writing(self) -> None:
        """It was sent."""
        self._room.set()

    def connection_lost(self, error: Exception | None) -> None:
        """The other side went away."""
        reason = str(error) if error else "it closed the connection"
        self.lose(Lost(f"{self.place}: {reason}", was_sent=True))

    def lose(self, error: HBaseError) -> None:
        """Give it up: calls under way fail with the error."""
        if self._lost is not None:
            return
        self._lost = error
        self._counters.losses += 1
        if self._transport is not None:
            self._transport.abort()
        self._out.clear()
        self._in = bytearray()
        self._room.set()
        for call_id in tuple(self._calls):
            call = self._take(call_id)
            if call is not None:
                _fail(call, error)

    def close(self) -> None:
        """Go away."""
        self.lose(Lost(f"{self.place}: closed", was_sent=True))


async def connect(
    host: str, port: int, service: str, limits: Limits, counters: Counters
) -> Connection:
    """A connection to a service; raises `Lost`."""
    place = f"{host}:{port}"
    make = partial(Connection, place, service, limits, counters)
    try:
        async with asyncio.timeout(limits.connect_seconds):
            _, made = await asyncio.get_running_loop().create_connection(make, host, port)
    except (OSError, TimeoutError) as error:
        reason = str(error) or f"no connection within {limits.connect_seconds:g} s"
        raise Lost(f"{place}: {reason}") from error
    return made


def remote_error(told: pb.ExceptionResponse) -> RemoteError:
    """What HBase answered instead of an answer."""
    return RemoteError(told.exception_class_name, told.stack_trace, do_not_retry=told.do_not_retry)


def _fail(call: Call[Any], error: HBaseError) -> None:
    if not call.future.done():
        call.future.set_exception(error)
        call.future.exception()  # looked at: nobody may be waiting any more


def _frame(call_id: int, method: str, request: Message, seconds: float) -> bytes:
    header = pb.RequestHeader(
        call_id=call_id, method_name=method, request_param=True, timeout=int(seconds * 1000)
    ).SerializeToString()
    body = request.SerializeToString()
    heads = (varint(len(header)), varint(len(body)))
    length = len(header) + len(body) + len(heads[0]) + len(heads[1])
    return b"".join((length.to_bytes(4, "big"), heads[0], header, heads[1], body))


def varint(number: int) -> bytes:
    """A length as protobuf writes it."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _delimited(frame: bytes, start: int) -> tuple[bytes, int]:
    """A message with its length before it, and where the next one begins."""
    length = shift = 0
    while True:
        byte = frame[start]
        start += 1
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    if start + length > len(frame):
        raise ValueError("a message that is longer than its frame")
    return frame[start : start + length], start + length
