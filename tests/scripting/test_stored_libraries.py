"""Libraries in the store: the row, the check, and payloads without a server."""

import pytest

from stratakv.encodings.rdb import function_libraries
from stratakv.errors import CommandError
from tests.encodings.fixtures import Bench


def test_a_library_is_one_row_that_the_check_knows() -> None:
    bench = Bench()
    txn = bench.txn()
    function_libraries.save(txn, b"lib", b"code")
    function_libraries.save(txn, b"gone", b"other")
    txn.apply()
    function_libraries.remove(txn, b"gone")
    txn.apply()
    bench.commit()
    assert {row: value for row, value in bench.rows().items() if row[:2] == b"f#"} == {
        b"f#lib": b"code"
    }
    assert bench.problems() == []
    assert list(function_libraries.every(txn.store)) == [b"code"]


def test_a_payload_gives_back_its_codes() -> None:
    txn = Bench().txn()
    codes = [b"", b"x" * 70, b"y" * 20000]
    assert function_libraries.parse(txn, function_libraries.dump(txn, codes)) == codes


def test_a_damaged_payload_is_refused() -> None:
    txn = Bench().txn()
    payload = function_libraries.dump(txn, [b"code"])
    for damaged in (b"", payload[:-1], b"\xf4" + payload[1:]):
        with pytest.raises(CommandError):
            function_libraries.parse(txn, damaged)
