"""One connection: whatever the other side does, each call ends, with the right kind of error."""

from __future__ import annotations

import asyncio

import pytest

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.errors import Kind, Late, Lost, RemoteError, Unsupported
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.wire import NOBODYS, Connection, connect
from tests.harness.waiting import HANG_S, loop_until
from tests.hbase.fake import Asked, FakeServer, frame


async def connection_to(server: FakeServer) -> Connection:
    return await connect("127.0.0.1", server.port, "ClientService", Limits(), Counters())


def ask(
    connection: Connection, row: bytes = b"row", seconds: float = HANG_S
) -> asyncio.Future[pb.GetResponse]:
    region = pb.RegionSpecifier(type=1, value=b"region")
    request = pb.GetRequest(region=region, get=pb.Get(row=row))
    return connection.call("Get", request, pb.GetResponse, seconds)


def value(text: bytes) -> pb.GetResponse:
    return pb.GetResponse(result=pb.Result(cell=[pb.Cell(value=text)]))


def row_of(asked: Asked) -> bytes:
    return pb.GetRequest.FromString(asked.body).get.row


async def never(asked: Asked) -> None:
    """Answer nothing."""


async def test_a_connection_says_what_it_wants_and_who_it_is() -> None:
    async def echo(asked: Asked) -> None:
        asked.answer(value(row_of(asked)))

    async with FakeServer(echo) as server:
        connection = await connection_to(server)
        assert (await ask(connection, b"here")).result.cell[0].value == b"here"
        assert server.hello.startswith(b"HBas\x00\x50")
        header = pb.ConnectionHeader.FromString(server.hello[6:])
        assert (header.service_name, header.user_info.effective_user) == (
            "ClientService",
            "stratakv",
        )
        connection.close()


async def test_answers_in_any_order_reach_who_asked() -> None:
    waiting: list[Asked] = []

    async def backwards(asked: Asked) -> None:
        waiting.append(asked)
        if len(waiting) == 20:
            for one in reversed(waiting):
                one.answer(value(row_of(one)))

    async with FakeServer(backwards) as server:
        connection = await connection_to(server)
        rows = [b"%d" % number for number in range(20)]
        answers = await asyncio.gather(*(ask(connection, row) for row in rows))
        assert [answer.result.cell[0].value for answer in answers] == rows
        connection.close()


async def test_an_answer_may_come_byte_by_byte() -> None:
    async def slowly(asked: Asked) -> None:
        for byte in frame(pb.ResponseHeader(call_id=asked.id), value(b"whole")):
            asked.writer.write(bytes((byte,)))
            await asked.writer.drain()
            await asyncio.sleep(0)

    async with FakeServer(slowly) as server:
        connection = await connection_to(server)
        assert (await ask(connection)).result.cell[0].value == b"whole"
        connection.close()


async def test_all_calls_under_way_fail_when_the_server_closes_in_the_middle_of_an_answer() -> None:
    async def half(asked: Asked) -> None:
        if row_of(asked) == b"last":
            whole = frame(pb.ResponseHeader(call_id=asked.id), value(b"x" * 100))
            asked.writer.write(whole[:50])
            await asked.writer.drain()
            asked.writer.close()

    async with FakeServer(half) as server:
        connection = await connection_to(server)
        calls = [ask(connection), ask(connection, b"last")]
        for call in calls:
            with pytest.raises(Lost) as caught:
                await call
            assert caught.value.is_in_doubt
            assert caught.value.kind is Kind.ELSEWHERE
        assert connection.is_lost


@pytest.mark.parametrize(
    "nonsense",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x03\x7fab",
        b"\x00\x00\x00\x05\xff\xff\xff\xff\xff",
        b"\x00\x00\x00\x04\x03\xff\xff\xff",
        frame(pb.ResponseHeader(call_id=77), value(b"to nobody")),
        frame(pb.ResponseHeader(call_id=1)),
        frame(pb.ResponseHeader(call_id=1))[:4].replace(b"\x03", b"\x06")
        + b"\x02\x08\x01\x02\xff\xff",
    ],
)
async def test_nonsense_ends_the_connection_and_is_named(nonsense: bytes) -> None:
    async def babble(asked: Asked) -> None:
        asked.writer.write(nonsense)

    async with FakeServer(babble) as server:
        connection = await connection_to(server)
        with pytest.raises(Lost, match="does not speak as HBase does"):
            await ask(connection)
        assert connection.is_lost


async def test_a_silent_server_is_given_up() -> None:
    async with FakeServer(never) as server:
        connection = await connection_to(server)
        other = ask(connection)
        with pytest.raises(Late) as caught:
            await ask(connection, seconds=0.05)
        assert caught.value.is_in_doubt
        assert connection.is_lost
        with pytest.raises(Lost, match="silent"):
            await other


async def test_a_late_answer_is_nobodys_and_harms_nobody() -> None:
    held: list[Asked] = []

    async def hold_back(asked: Asked) -> None:
        if row_of(asked) == b"slow":
            held.append(asked)
            return
        for one in held:
            one.answer(value(b"too late"))
        asked.answer(value(b"quick"))

    async with FakeServer(hold_back) as server:
        connection = await connection_to(server)
        slow = ask(connection, b"slow", seconds=0.2)
        await loop_until(lambda: held)
        held.clear()
        assert (await ask(connection)).result.cell[0].value == b"quick"
        with pytest.raises(Late):
            await slow
        assert not connection.is_lost
        assert (await ask(connection)).result.cell[0].value == b"quick"
        connection.close()


async def test_an_exception_is_an_answer() -> None:
    async def refuse(asked: Asked) -> None:
        asked.refuse("org.apache.hadoop.hbase.NotServingRegionException", "not here\n\tat x.java")

    async with FakeServer(refuse) as server:
        connection = await connection_to(server)
        with pytest.raises(RemoteError, match=r"not here$") as caught:
            await ask(connection)
        assert caught.value.kind is Kind.ELSEWHERE
        assert not caught.value.is_in_doubt
        assert not connection.is_lost
        connection.close()


async def test_a_server_that_wants_authentication_is_named_as_such() -> None:
    async def dismiss(asked: Asked) -> None:
        told = pb.ExceptionResponse(
            exception_class_name="org.apache.hadoop.hbase.security.AccessDeniedException",
            stack_trace="Authentication is required",
        )
        asked.writer.write(frame(pb.ResponseHeader(call_id=NOBODYS, exception=told)))

    async with FakeServer(dismiss) as server:
        connection = await connection_to(server)
        with pytest.raises(Unsupported, match=r"Kerberos.*does not support"):
            await ask(connection)
        assert connection.is_lost


async def test_a_connection_that_was_lost_takes_no_calls() -> None:
    async with FakeServer(never) as server:
        connection = await connection_to(server)
        connection.close()
        with pytest.raises(Lost) as caught:
            await ask(connection)
        assert not caught.value.is_in_doubt, "nothing was sent"


async def test_nobody_there_is_an_error_that_is_not_in_doubt() -> None:
    async with FakeServer(never) as server:
        port = server.port
    with pytest.raises(Lost) as caught:
        await connect("127.0.0.1", port, "ClientService", Limits(), Counters())
    assert not caught.value.is_in_doubt


async def test_a_call_that_nobody_waits_for_is_forgotten() -> None:
    async with FakeServer(never) as server:
        counters = Counters()
        connection = await connect("127.0.0.1", server.port, "ClientService", Limits(), counters)
        call = ask(connection)
        assert counters.waiting == 1
        call.cancel()
        await asyncio.sleep(0)
        assert counters.waiting == 0
        connection.close()


async def test_calls_wait_while_too_much_is_unsent() -> None:
    reading = asyncio.Event()

    async def stall(asked: Asked) -> None:
        await reading.wait()
        asked.answer(value(b""))

    async with FakeServer(stall) as server:
        limits = Limits(unsent_bytes=1 << 16)
        connection = await connect("127.0.0.1", server.port, "ClientService", limits, Counters())
        calls = [ask(connection, bytes(1 << 16)) for _ in range(200)]
        await asyncio.sleep(0)
        room = asyncio.create_task(connection.has_room())
        await asyncio.sleep(0.05)
        assert not room.done()
        reading.set()
        await room
        await asyncio.gather(*calls)
        connection.close()
