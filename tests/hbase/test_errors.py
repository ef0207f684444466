"""What HBase's exceptions mean, how addresses are read, what is refused before it is sent."""

from __future__ import annotations

import pytest

from stratakv.storage.hbase.errors import Kind, RemoteError, TooLarge, Unsupported
from stratakv.storage.hbase.groups import MOST_EPOCH, MOST_TURN, Group, split_keys, timestamp
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.table import Table
from stratakv.storage.hbase.zookeeper import Address, parse_address


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("org.apache.hadoop.hbase.NotServingRegionException", Kind.ELSEWHERE),
        ("org.apache.hadoop.hbase.exceptions.RegionMovedException", Kind.ELSEWHERE),
        ("org.apache.hadoop.hbase.exceptions.RegionOpeningException", Kind.LATER),
        ("org.apache.hadoop.hbase.RegionTooBusyException", Kind.BUSY),
        ("org.apache.hadoop.hbase.CallQueueTooBigException", Kind.BUSY),
        ("org.apache.hadoop.hbase.UnknownScannerException", Kind.SCANNER),
        ("org.apache.hadoop.hbase.TableNotFoundException", Kind.FATAL),
    ],
)
def test_an_exception_is_known_by_its_name(name: str, kind: Kind) -> None:
    error = RemoteError(name, f"{name}: why\n\tat somewhere")
    assert (error.kind, error.is_in_doubt) == (kind, False)
    assert str(error) == f"{name}: why"


def test_an_exception_that_nobody_knows_is_as_final_as_hbase_says_and_leaves_a_doubt() -> None:
    assert RemoteError("java.io.IOException", "disk").kind is Kind.LATER
    assert RemoteError("java.io.IOException", "disk").is_in_doubt
    assert RemoteError("java.lang.Error", "x", do_not_retry=True).kind is Kind.FATAL


def test_a_server_that_aborts_may_have_done_it() -> None:
    assert RemoteError("a.RegionServerAbortedException", "").is_in_doubt


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("zk", Address(("zk:2181",))),
        ("a:1,b , c:3", Address(("a:1", "b:2181", "c:3"))),
        ("a:1/hbase-two", Address(("a:1",), "/hbase-two")),
        ("[::1]:2182", Address(("[::1]:2182",))),
    ],
)
def test_an_address_names_servers_and_perhaps_a_znode(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "a,,b", "a:port", "a b"])
def test_nonsense_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="not a ZooKeeper address"):
        parse_address(text)


@pytest.mark.parametrize("text", ["user:secret@zk:2181", "tls://zk:2181", "zks://a@zk"])
def test_credentials_and_tls_are_refused_by_name(text: str) -> None:
    with pytest.raises(Unsupported, match=r"authentication|not supported") as caught:
        parse_address(text)
    assert "secret" not in str(caught.value)


def test_sizes_are_refused_beyond_their_limits_only() -> None:
    limits = Limits(value_bytes=10, commit_bytes=20)
    limits.check_row(bytes(32_767))
    limits.check_value(10)
    limits.check_commit(20)
    with pytest.raises(TooLarge, match="32768 bytes"):
        limits.check_row(bytes(32_768))
    with pytest.raises(TooLarge, match="a value of 11 bytes"):
        limits.check_value(11)
    with pytest.raises(TooLarge, match="21 bytes in one commit"):
        limits.check_commit(21)


def test_names_of_a_group_lie_between_those_of_its_neighbours() -> None:
    names = [
        name
        for number in (0, 1, 255, 256, 16_383)
        for group in (Group(number),)
        for name in (group.prefix, group.fence, group.row(b""), group.row(b"\xff" * 9), group.probe)
    ]
    assert names == sorted(names)
    assert Group(7).engine_row(Group(7).row(b"row")) == b"row"
    assert split_keys(3) == [b"\x00\x01", b"\x00\x02"]


def test_timestamps_rise_with_epochs_and_turns_and_have_no_sign() -> None:
    places = [(0, 1), (1, 0), (1, 1), (1, MOST_TURN), (2, 0), (MOST_EPOCH, MOST_TURN)]
    stamps = [timestamp(*place) for place in places]
    assert stamps == sorted(set(stamps))
    assert stamps[-1] == 2**63 - 1


@pytest.mark.parametrize("groups", [0, 16_385])
def test_there_are_as_many_groups_as_slots_at_most(groups: int) -> None:
    with pytest.raises(ValueError, match="groups"):
        Table.check_groups(groups)
