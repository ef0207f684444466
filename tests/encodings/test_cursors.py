"""The table of open scans: what it knows, what it forgets, and that it stays small."""

from stratakv.encodings.keyspace.cursors import Cursors

SUB = b"s#0:path"


def test_a_cursor_leads_back_to_its_place() -> None:
    cursors = Cursors()
    cursor = cursors.remember(SUB, b"field")
    assert 1 <= cursor < 1 << 63
    assert cursors.start_after(cursor, SUB) == b"field"


def test_the_same_place_has_the_same_cursor() -> None:
    cursors = Cursors()
    assert cursors.remember(SUB, b"field") == Cursors().remember(SUB, b"field")
    cursors.remember(SUB, b"field")
    assert len(cursors) == 1


def test_where_prefix_and_member_meet_matters() -> None:
    cursors = Cursors()
    assert cursors.remember(b"ab", b"c") != cursors.remember(b"a", b"bc")


def test_an_unknown_cursor_starts_over() -> None:
    cursors = Cursors()
    cursor = cursors.remember(SUB, b"field")
    assert cursors.start_after(0, SUB) is None
    assert cursors.start_after(cursor + 1, SUB) is None


def test_a_cursor_of_another_incarnation_starts_over() -> None:
    cursors = Cursors()
    cursor = cursors.remember(SUB, b"field")
    assert cursors.start_after(cursor, SUB + b"2") is None


def test_a_cursor_can_be_used_twice() -> None:
    cursors = Cursors()
    cursor = cursors.remember(SUB, b"field")
    cursors.start_after(cursor, SUB)
    assert cursors.start_after(cursor, SUB) == b"field"


def test_the_oldest_cursor_makes_room() -> None:
    cursors = Cursors(limit=2)
    first, second, third = (cursors.remember(SUB, name) for name in (b"1", b"2", b"3"))
    assert cursors.start_after(first, SUB) is None
    assert cursors.start_after(second, SUB) == b"2"
    assert cursors.start_after(third, SUB) == b"3"


def test_a_long_scan_does_not_push_out_a_waiting_one() -> None:
    cursors = Cursors(limit=3)
    waiting = cursors.remember(SUB, b"waiting")
    for number in range(100):
        cursors.start_after(cursors.remember(SUB, b"%d" % number), SUB)
    assert cursors.start_after(waiting, SUB) == b"waiting"
    assert len(cursors) == 3


def test_long_members_make_room_by_their_bytes() -> None:
    cursors = Cursors(byte_limit=1000)
    first = cursors.remember(SUB, b"a" * 600)
    second = cursors.remember(SUB, b"b" * 600)
    assert cursors.start_after(first, SUB) is None
    assert cursors.start_after(second, SUB) == b"b" * 600


def test_the_newest_cursor_is_kept_however_long() -> None:
    cursors = Cursors(byte_limit=10)
    assert cursors.start_after(cursors.remember(SUB, b"a" * 600), SUB) == b"a" * 600
