"""Each kind of error has its own way to go on; servers of all kinds are made of a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.commits import Commits
from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.errors import Fenced, GaveUp, RemoteError, SnapshotGone, Unsupported
from stratakv.storage.hbase.fences import Fences, encode_place
from stratakv.storage.hbase.gets import Gets
from stratakv.storage.hbase.groups import FENCE, OWNER, Group
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.locations import Region, Regions
from stratakv.storage.hbase.requests import Durability, region_by_name
from stratakv.storage.hbase.scans import Scans
from stratakv.storage.hbase.servers import Server, Servers
from stratakv.storage.hbase.snapshots import open_snapshot
from stratakv.storage.hbase.table import probe
from stratakv.storage.hbase.zookeeper import ZooKeeper, parse_address
from tests.hbase.fake import Asked, FakeServer

GROUP = Group(0)
HASTE = Limits(call_seconds=5.0, patience_seconds=1.0)
PACKAGE = "org.apache.hadoop.hbase."


@asynccontextmanager
async def calls_to(
    *behave: Callable[[Asked], None], limits: Limits | None = None
) -> AsyncIterator[Calls]:
    """A table of one region whose server does one thing after the other, the last again and again.

    Where the region is cannot be looked up: what is forgotten is put back.
    """
    left = list(behave)

    async def next_one(asked: Asked) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(asked)

    async with FakeServer(next_one) as server:
        limits, counters = limits or Limits(), Counters()
        servers = Servers(limits, counters)
        zookeeper = ZooKeeper(parse_address("127.0.0.1:1"), seconds=1)
        regions = Regions(b"table", zookeeper, servers, limits, counters)
        place = Server("127.0.0.1", server.port)
        region = Region(b"region", b"", b"", place, region_by_name(b"region"))
        regions.remember(region)
        regions.forget = lambda region: None  # type: ignore[method-assign]
        yield Calls(regions, servers, limits, counters)
        servers.close()
        await zookeeper.close()


def refuse(name: str) -> Callable[[Asked], None]:
    return lambda asked: asked.refuse(PACKAGE + name, "as the test wants it")


def hang_up(asked: Asked) -> None:
    asked.writer.close()


def values(asked: Asked) -> None:
    """Each row's value is its name."""
    request = pb.MultiRequest.FromString(asked.body)
    results = [
        pb.ResultOrException(index=one.index, result=pb.Result(cell=[pb.Cell(value=one.get.row)]))
        for one in request.regions[0].actions
    ]
    asked.answer(pb.MultiResponse(regions=[pb.RegionActionResult(results=results)]))


def processed(outcome: bool | None) -> Callable[[Asked], None]:
    """The answer of the endpoint; None is that of an HBase which knows no conditions."""
    told = pb.MutateRowsResponse() if outcome is None else pb.MutateRowsResponse(processed=outcome)
    region = pb.RegionSpecifier(type=1, value=b"region")
    value = pb.NameBytesPair(name="", value=told.SerializeToString())
    return lambda asked: asked.answer(pb.CoprocessorServiceResponse(region=region, value=value))


def fence_at(epoch: int, turn: int) -> Callable[[Asked], None]:
    cells = [
        pb.Cell(qualifier=FENCE, value=encode_place(epoch, turn)),
        pb.Cell(qualifier=OWNER, value=bytes(16) + b"somebody"),
    ]
    return lambda asked: asked.answer(pb.GetResponse(result=pb.Result(cell=cells)))


def commits_of(calls: Calls) -> Commits:
    fences = Fences(calls, Gets(calls), Durability.LOGGED)
    return Commits(calls, fences, Durability.LOGGED)


@pytest.mark.parametrize(
    "trouble",
    [
        refuse("NotServingRegionException"),
        refuse("exceptions.RegionOpeningException"),
        refuse("RegionTooBusyException"),
        refuse("SomethingNewException"),
        hang_up,
    ],
)
async def test_a_read_goes_on_after_what_passes(trouble: Callable[[Asked], None]) -> None:
    async with calls_to(trouble, trouble, values) as calls:
        assert await Gets(calls).many([b"a", b"b", b"a"]) == [b"a", b"b", b"a"]
        assert calls.counters.retries == 2


async def test_a_final_error_is_told_at_once() -> None:
    async with calls_to(refuse("TableNotFoundException")) as calls:
        with pytest.raises(RemoteError, match="TableNotFound"):
            await Gets(calls).many([b"a"])
        assert calls.counters.calls == 1


async def test_patience_ends_with_the_last_reason() -> None:
    async with calls_to(refuse("NotServingRegionException"), limits=HASTE) as calls:
        with pytest.raises(GaveUp, match=r"get failed again and again; last: .*NotServing"):
            await Gets(calls).many([b"a"])


async def test_rows_that_were_left_out_are_asked_for_again() -> None:
    def only_first(asked: Asked) -> None:
        one = pb.ResultOrException(index=0, result=pb.Result(cell=[pb.Cell(value=b"first")]))
        two = pb.ResultOrException(
            index=1, exception=pb.NameBytesPair(name=PACKAGE + "MultiActionResultTooLarge")
        )
        asked.answer(pb.MultiResponse(regions=[pb.RegionActionResult(results=[one, two])]))

    async with calls_to(only_first, values) as calls:
        assert await Gets(calls).many([b"a", b"b"]) == [b"first", b"b"]


async def test_a_server_with_too_much_to_do_is_left_alone_for_a_while() -> None:
    async with calls_to(refuse("CallQueueTooBigException"), values) as calls:
        began = asyncio.get_running_loop().time()
        await Gets(calls).many([b"a"])
        assert asyncio.get_running_loop().time() - began >= 0.1, "the first back-off"
        assert calls.counters.too_busy == 1
        assert not calls.pressure.is_high


async def test_pressure_is_high_until_the_server_works_again() -> None:
    async with calls_to(refuse("RegionTooBusyException"), limits=HASTE) as calls:
        with pytest.raises(GaveUp):
            await Gets(calls).many([b"a"])
        assert calls.pressure.is_high


async def test_a_commit_whose_answer_got_lost_is_done_once() -> None:
    async with calls_to(hang_up, processed(False), fence_at(3, 5)) as calls:
        await commits_of(calls).commit(GROUP, 3, 5, {GROUP.row(b"a"): b"1"})
        assert (calls.counters.in_doubt, calls.counters.commits) == (1, 1)


async def test_a_commit_of_unknown_outcome_that_is_fenced_is_an_error_in_doubt() -> None:
    async with calls_to(hang_up, processed(False), fence_at(4, 0)) as calls:
        with pytest.raises(Fenced, match="somebody") as caught:
            await commits_of(calls).commit(GROUP, 3, 5, {GROUP.row(b"a"): b"1"})
        assert caught.value.is_in_doubt
        assert calls.counters.commits == 0


async def test_a_commit_that_is_refused_at_once_was_not_done() -> None:
    async with calls_to(processed(False), fence_at(4, 0)) as calls:
        with pytest.raises(Fenced) as caught:
            await commits_of(calls).commit(GROUP, 3, 5, {GROUP.row(b"a"): b"1"})
        assert not caught.value.is_in_doubt


async def test_the_same_turn_by_somebody_else_is_not_taken_for_ones_own() -> None:
    """Two commits of one turn were under way: only the one in doubt may believe it was its own."""
    async with calls_to(processed(False), fence_at(3, 5)) as calls:
        with pytest.raises(Fenced, match="does not follow"):
            await commits_of(calls).commit(GROUP, 3, 5, {GROUP.row(b"a"): b"1"})


async def test_a_commit_that_is_never_answered_is_in_doubt() -> None:
    async with calls_to(hang_up, limits=HASTE) as calls:
        with pytest.raises(GaveUp, match="whether it was done is not known") as caught:
            await commits_of(calls).commit(GROUP, 3, 5, {GROUP.row(b"a"): b"1"})
        assert caught.value.is_in_doubt


async def test_a_final_error_after_a_lost_answer_is_in_doubt() -> None:
    async with calls_to(hang_up, refuse("DoNotRetryIOException")) as calls:
        with pytest.raises(RemoteError) as caught:
            await commits_of(calls).commit(GROUP, 3, 5, {GROUP.row(b"a"): b"1"})
        assert caught.value.is_in_doubt


@pytest.mark.parametrize("outcome", [None, True])
async def test_a_server_that_ignores_conditions_is_refused(outcome: bool | None) -> None:
    async with calls_to(processed(outcome)) as calls:
        with pytest.raises(Unsupported, match="condition"):
            await probe(calls, GROUP)
        assert calls.counters.calls == 2, "what it wrote is deleted"


async def test_a_table_without_the_endpoint_is_refused() -> None:
    async with calls_to(refuse("exceptions.UnknownProtocolException")) as calls:
        with pytest.raises(Unsupported, match="MultiRowMutationEndpoint"):
            await probe(calls, GROUP)


async def test_a_scan_goes_on_after_heartbeats_and_early_stops() -> None:
    """The server may answer with nothing: that is not the end."""

    def part(rows: list[bytes], *, more: bool, heartbeat: bool = False) -> Callable[[Asked], None]:
        results = [pb.Result(cell=[pb.Cell(row=row, value=b"v")]) for row in rows]
        answer = pb.ScanResponse(
            scanner_id=9,
            results=results,
            more_results=True,
            more_results_in_region=more,
            heartbeat_message=heartbeat,
        )
        return lambda asked: asked.answer(answer)

    parts = (
        part([], more=True, heartbeat=True),
        part([b"a"], more=True),
        refuse("UnknownScannerException"),
        part([b"b"], more=True, heartbeat=True),
        part([], more=True, heartbeat=True),
        part([b"c"], more=False),
    )
    async with calls_to(*parts) as calls:
        page = await Scans(calls).page(b"", b"z")
        assert [row for row, _ in page.rows] == [b"a", b"b", b"c"]
        assert page.is_last
        assert calls.counters.calls == len(parts)


def opened_scanner(asked: Asked) -> None:
    asked.answer(pb.ScanResponse(scanner_id=7, ttl=60_000_000, mvcc_read_point=5))


def one_row(asked: Asked) -> None:
    request = pb.ScanRequest.FromString(asked.body)
    assert request.scan.mvcc_read_point == 5
    results = [pb.Result(cell=[pb.Cell(row=GROUP.row(b"a"), value=b"1")])]
    asked.answer(pb.ScanResponse(results=results, more_results_in_region=False))


def renewed(asked: Asked) -> None:
    request = pb.ScanRequest.FromString(asked.body)
    assert (request.renew, request.scanner_id) == (True, 7)
    asked.answer(pb.ScanResponse())


async def test_a_snapshot_waits_for_a_server_that_has_too_much_to_do() -> None:
    busy = refuse("RegionTooBusyException")
    async with calls_to(opened_scanner, busy, one_row, busy, renewed) as calls:
        snapshot = await open_snapshot(calls, Scans(calls), GROUP)
        assert await snapshot.get_many([GROUP.row(b"a")]) == [b"1"]
        assert calls.counters.too_busy == 2
        await snapshot.close()


@pytest.mark.parametrize(
    "trouble", [refuse("NotServingRegionException"), refuse("UnknownScannerException"), hang_up]
)
async def test_what_was_read_does_not_count_if_the_scanner_is_gone_afterwards(
    trouble: Callable[[Asked], None],
) -> None:
    async with calls_to(opened_scanner, one_row, trouble) as calls:
        snapshot = await open_snapshot(calls, Scans(calls), GROUP)
        with pytest.raises(SnapshotGone):
            await snapshot.get_many([GROUP.row(b"a")])
        await snapshot.close()
        assert calls.counters.snapshots_gone == 1


async def test_an_hbase_without_read_points_is_refused() -> None:
    def old(asked: Asked) -> None:
        asked.answer(pb.ScanResponse(scanner_id=7, ttl=60_000))

    async with calls_to(old) as calls:
        with pytest.raises(Unsupported, match="read points"):
            await open_snapshot(calls, Scans(calls), GROUP)
