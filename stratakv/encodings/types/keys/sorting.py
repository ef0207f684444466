"""SORT: elements of a list, set or sorted set in another order, with values of other keys.

A pattern with a `*` names another key for each element: `weight_*` a string, `user_*->age` a field
of a hash. `#` is the element itself.
"""

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import HASH, LIST, SET, STRING, ZSET, Meta
from stratakv.encodings.layout.numbers import parse_float
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.keys.keys import drained, paced
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zset_order, zsets
from stratakv.errors import CommandError, wrong_type

_CHUNK: Final = 2000
"""Elements that are sorted at one go: about a millisecond."""
_MOST: Final = 1 << 62
_C_BLANKS: Final = b" \t\n\v\f\r"

Lookup = Callable[[bytes], bytes | None]
Weighted = tuple[Any, bytes]


class Plan(NamedTuple):
    """What SORT was asked for. `by` is None for the element itself."""

    by: bytes | None = None
    start: int = 0
    amount: int = -1
    gets: tuple[bytes, ...] = ()
    descending: bool = False
    alpha: bool = False
    store: bytes | None = None

    @property
    def is_unsorted(self) -> bool:
        """BY a name without `*`: the elements stay as they are."""
        return self.by is not None and b"*" not in _c_string(self.by)

    @property
    def end(self) -> int | None:
        """How many elements LIMIT needs from the beginning; None for all."""
        return min(max(0, self.start) + self.amount, _MOST) if self.amount >= 0 else None

    def cut(self, elements: Iterable[bytes]) -> list[bytes]:
        """The elements that LIMIT leaves."""
        return list(islice(elements, min(max(0, self.start), _MOST), self.end))


def sort(txn: Txn, key: bytes, plan: Plan) -> tuple[int, Iterator[bytes | None]]:
    """The length of the result, and its items one by one: None where GET finds nothing."""
    chosen = _chosen(txn, key, plan)
    return len(chosen) * max(1, len(plan.gets)), _fetched(txn, chosen, plan.gets)


def store(txn: Txn, key: bytes, destination: bytes, plan: Plan) -> list[bytes]:
    """Make the result a list, and return it. An empty result deletes the destination."""
    _, items = sort(txn, key, plan)
    # all is read before the destination changes: it may be one of the keys that GET names
    elements = [item or b"" for item in items]
    if elements:
        lists.create(txn, destination, elements)
        txn.event("l", "sortstore", destination)
    else:
        txn.erase(destination)
    return elements


def _chosen(txn: Txn, key: bytes, plan: Plan) -> list[bytes]:
    """The elements in their order, within the limits."""
    meta = txn.read(key)
    meta = None if meta is None else opened(txn, meta)
    if meta is None:
        return []
    if meta.type not in (LIST, SET, ZSET):
        raise wrong_type()
    if plan.is_unsorted and plan.store is not None and meta.type == SET:
        plan = plan._replace(by=None, alpha=True)  # what is stored must not depend on chance
    if plan.is_unsorted:
        return plan.cut(_elements(txn, meta, plan.descending and meta.type != SET))
    return plan.cut(_sorted(txn, _elements(txn, meta, False), plan))


def _elements(txn: Txn, meta: Meta, reverse: bool) -> Iterator[bytes]:
    """Elements in the order of the type: a list's own, a sorted set's by score."""
    if meta.type == LIST:
        txn.expect_work(lists.count(meta))
        return lists.elements(txn, meta, reverse=reverse)
    if meta.counted:
        txn.expect_work(meta.extra)  # type: ignore[arg-type]  # an int by `counted`
    if meta.type == ZSET and meta.format.tiered:
        found = zset_order.walk(txn, meta, reverse=reverse)
        return zsets.members_of(meta, found)
    by_score = meta.type == ZSET
    prefix = meta.order if by_score else meta.sub
    size = len(prefix) + 8 if by_score else len(prefix)
    found = txn.scan_keys(prefix, rows.end_of(prefix), reverse=reverse)
    return (row[size:] for row in found)


# order


def _sorted(txn: Txn, elements: Iterable[bytes], plan: Plan) -> Iterator[bytes]:
    """Sort in chunks with pauses between them, then merge: a million at once takes too long."""
    weigh = _alpha_weight(txn, plan) if plan.alpha else _numeric_weight(txn, plan)
    weighted = ((weigh(element), element) for element in elements)
    # equal numbers go by the element; equal words stay as they came
    order = itemgetter(0) if plan.alpha else None
    chunks: list[list[Weighted]] = []
    while chunk := list(islice(weighted, _CHUNK)):
        chunk.sort(key=order, reverse=plan.descending)
        chunks.append(chunk[: plan.end])
        txn.pause_if_due()
    if len(chunks) == 1:
        return map(itemgetter(1), chunks[0])
    merged = heapq.merge(*map(drained, chunks), key=order, reverse=plan.descending)
    return paced(txn, map(itemgetter(1), merged))


def _numeric_weight(txn: Txn, plan: Plan) -> Callable[[bytes], float]:
    """An element without a weight weighs 0."""
    if plan.by is None:
        return _number
    find = _lookup(txn, plan.by)

    def weight(element: bytes) -> float:
        value = find(element)
        return 0.0 if value is None else _number(value)

    return weight


def _number(text: bytes) -> float:
    """What C's strtod makes of the text: blanks may go before it, a NUL ends it, nothing is 0.

    A number too small for full precision is out of range to strtod, and so it is to Redis.
    """
    text = _c_string(text)
    if not text:
        return 0.0
    number = parse_float(text.lstrip(_C_BLANKS))
    if number is None or 0 < abs(number) < sys.float_info.min:
        raise CommandError(errors.SCORES_NOT_FLOAT)
    return number


def _alpha_weight(txn: Txn, plan: Plan) -> Callable[[bytes], Any]:
    """Stored results go by all bytes, replies by those before a NUL; no weight comes first."""
    collate = _c_string if plan.store is None else bytes
    if plan.by is None:
        return collate
    find = _lookup(txn, plan.by)

    def weight(element: bytes) -> tuple[bool, bytes]:
        value = find(element)
        return value is not None, collate(value or b"")

    return weight


def _c_string(text: bytes) -> bytes:
    return text.split(b"\0", 1)[0] if b"\0" in text else text


# values of other keys


def _fetched(txn: Txn, elements: list[bytes], patterns: Sequence[bytes]) -> Iterator[bytes | None]:
    """For each element what each pattern finds; the element itself if there are none.

    Takes the elements out of their list.
    """
    if not patterns:
        yield from paced(txn, drained(elements))
        return
    lookups = [_lookup(txn, pattern) for pattern in patterns]
    for element in paced(txn, drained(elements)):
        for find in lookups:
            yield find(element)


def _lookup(txn: Txn, pattern: bytes) -> Lookup:
    """The function that finds a pattern's value for an element."""
    if _c_string(pattern) == b"#":
        return lambda element: element
    prefix, star, rest = pattern.partition(b"*")
    if not star or b"\0" in prefix:
        return lambda element: None
    suffix, arrow, field = rest.partition(b"->")
    if arrow and field:
        return lambda element: _field(txn, prefix + element + suffix, field)
    return lambda element: _string(txn, prefix + element + rest)


def _string(txn: Txn, key: bytes) -> bytes | None:
    meta = txn.find(key)
    return strings.whole(txn, meta) if meta is not None and meta.type == STRING else None


def _field(txn: Txn, key: bytes, field: bytes) -> bytes | None:
    meta = txn.find(key)
    if meta is None or meta.type != HASH:
        return None
    return hashes.value_in(txn, meta, field)
