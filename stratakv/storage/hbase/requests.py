"""What is asked of HBase, as its messages: the one place that knows the numbers in them."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.groups import FAMILY, VALUE

META_REGION: Final = b"hbase:meta,,1"
MUTATE_ROWS: Final = ("MultiRowMutationService", "MutateRows")
COPROCESSOR: Final = "org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint"

_BY_NAME: Final = 1
_PUT: Final = 2
_DELETE: Final = 3
_ALL_UP_TO: Final = 1
"""Deletes all versions of a cell up to the timestamp."""
_EQUAL: Final = 2
_POSITIONED: Final = 2
"""Read as a get does. The server does not begin to stream, and does not stop early to do so."""
_FILTERS: Final = "org.apache.hadoop.hbase.filter."


class Durability(IntEnum):
    """When a commit is acknowledged."""

    LOGGED = 3
    """In the memory of all datanodes that keep the log (SYNC_WAL)."""
    SYNCED = 4
    """On their disks (FSYNC_WAL)."""


DURABILITIES: Final = {
    "os": Durability.LOGGED,
    "everysec": Durability.LOGGED,
    "always": Durability.SYNCED,
}
"""By the values of the option `durability`. An HBase has nothing between the two."""


def region_by_name(name: bytes) -> pb.RegionSpecifier:
    """A region, as calls name it."""
    return pb.RegionSpecifier(type=_BY_NAME, value=name)


# writes


def put(
    row: bytes, cells: Iterable[tuple[bytes, bytes]], at: int, durability: Durability
) -> pb.Mutation:
    """Put cells of a row: qualifiers with their values."""
    values = [
        pb.QualifierValue(qualifier=qualifier, value=value, timestamp=at)
        for qualifier, value in cells
    ]
    return _mutation(_PUT, row, values, at, durability)


def put_value(row: bytes, value: bytes, at: int, durability: Durability) -> pb.Mutation:
    """Put the value of a row."""
    return put(row, ((VALUE, value),), at, durability)


def delete_value(row: bytes, at: int, durability: Durability) -> pb.Mutation:
    """Delete a row, and whatever of it is older."""
    gone = pb.QualifierValue(qualifier=VALUE, timestamp=at, delete_type=_ALL_UP_TO)
    return _mutation(_DELETE, row, [gone], at, durability)


def _mutation(
    kind: int, row: bytes, cells: list[pb.QualifierValue], at: int, durability: Durability
) -> pb.Mutation:
    return pb.Mutation(
        row=row,
        mutate_type=kind,
        columns=[pb.ColumnValue(family=FAMILY, cells=cells)],
        timestamp=at,
        durability=durability,
    )


def if_equal(row: bytes, qualifier: bytes, value: bytes) -> pb.Condition:
    """Only if a cell is there and has this value."""
    return _condition(row, qualifier, "BinaryComparator", _comparable(value))


def if_begins(row: bytes, qualifier: bytes, value: bytes) -> pb.Condition:
    """Only if a cell is there and begins so."""
    return _condition(row, qualifier, "BinaryPrefixComparator", _comparable(value))


def if_absent(row: bytes, qualifier: bytes) -> pb.Condition:
    """Only if there is no such cell."""
    return _condition(row, qualifier, "NullComparator", b"")


def _comparable(value: bytes) -> bytes:
    wanted = pb.ByteArrayComparable(value=value)
    return pb.BinaryComparator(comparable=wanted).SerializeToString()


def _condition(row: bytes, qualifier: bytes, comparator: str, serialized: bytes) -> pb.Condition:
    return pb.Condition(
        row=row,
        family=FAMILY,
        qualifier=qualifier,
        compare_type=_EQUAL,
        comparator=pb.Comparator(name=_FILTERS + comparator, serialized=serialized),
    )


def mutate_rows(
    region: pb.RegionSpecifier, row: bytes, request: bytes
) -> pb.CoprocessorServiceRequest:
    """A call of the endpoint that writes rows of one region together; `row` is one of them."""
    service, method = MUTATE_ROWS
    return pb.CoprocessorServiceRequest(
        region=region,
        call=pb.CoprocessorServiceCall(
            row=row, service_name=service, method_name=method, request=request
        ),
    )


# reads


def get(row: bytes, *qualifiers: bytes) -> pb.Get:
    """Cells of a row."""
    return pb.Get(row=row, column=[pb.Column(family=FAMILY, qualifier=qualifiers)])


def scan(
    start: bytes,
    stop: bytes,
    *,
    reverse: bool = False,
    keys_only: bool = False,
    rows: int,
    size: int,
    read_point: int = 0,
) -> pb.Scan:
    """Values of the rows of [start, stop), from the end when `reverse`.

    There is one column, so that no row can come in parts.
    """
    made = pb.Scan(
        column=[pb.Column(family=FAMILY, qualifier=[VALUE])],
        start_row=stop if reverse else start,
        stop_row=start if reverse else stop,
        include_start_row=not reverse,
        include_stop_row=reverse,
        reversed=reverse,
        caching=rows,
        max_result_size=size,
        read_type=_POSITIONED,
    )
    if read_point:
        made.mvcc_read_point = read_point
    if keys_only:
        made.filter.name = _FILTERS + "KeyOnlyFilter"
        made.filter.serialized = pb.KeyOnlyFilter(length_as_value=False).SerializeToString()
    return made


def meta_scan(start: bytes, stop: bytes, *, reverse: bool, rows: int) -> pb.ScanRequest:
    """Rows of the meta table, in one call; `start` is where to begin, and not included."""
    wanted = pb.Scan(
        column=[pb.Column(family=b"info")],
        start_row=start,
        stop_row=stop,
        include_start_row=False,
        include_stop_row=False,
        reversed=reverse,
        caching=rows,
        read_type=_POSITIONED,
    )
    return pb.ScanRequest(
        region=region_by_name(META_REGION),
        scan=wanted,
        number_of_rows=rows,
        limit_of_rows=rows,
        close_scanner=True,
    )
