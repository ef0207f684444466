"""The one way in which anything is written: rows of a region together, on a condition."""

from google.protobuf.message import DecodeError

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.errors import Lost, Unsupported
from stratakv.storage.hbase.requests import mutate_rows


async def mutate(calls: Calls, row: bytes, request: bytes) -> bool:
    """One try to write rows together with one that is named; whether the condition was true."""
    region = await calls.regions.find(row)
    answer = await calls.once(
        region,
        "ExecService",
        mutate_rows(region.specifier, row, request),
        pb.CoprocessorServiceResponse,
    )
    try:
        outcome = pb.MutateRowsResponse.FromString(answer.value.value)
    except DecodeError as error:
        raise Lost(f"{region.server} has answered nonsense", was_sent=True) from error
    if not outcome.HasField("processed"):
        ignored = Unsupported(
            f"the HBase at {region.server} ignores conditions on writes of several rows: "
            "StrataKV needs HBase 2.5 or newer"
        )
        ignored.is_in_doubt = True
        raise ignored
    return outcome.processed
