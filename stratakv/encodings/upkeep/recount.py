"""Makes the invariants of a store true again after rows of it were lost.

What is left of a collection is kept and counted anew; what is left without its meta is queued for
reclaiming. Afterwards `check` finds nothing, and what is lost stands in the report.
"""

import math
import re
import time
from collections.abc import Callable, Generator, Iterator
from typing import Final

from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import LIST, NO_EXPIRY, SET, STREAM, STRING, ZSET, Meta
from stratakv.encodings.layout.tenant_records import (
    Quota,
    TenantRecord,
    decode_tenant,
    encode_tenant,
    is_name,
)
from stratakv.encodings.upkeep.check import SINGLE_ROWS, Problem, namespaces_of
from stratakv.encodings.upkeep.recount_streams import recount_stream
from stratakv.errors import CommandError
from stratakv.storage.contract import Engine

BATCH_ROWS: Final = 1000
_BUILDING: Final = b"\0\0"
"""What the `g#` row of an incarnation says that was not published yet."""


class Draft:
    """An engine whose changes are collected and written in batches; reads see what is written."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._rows: dict[bytes, bytes | None] = {}

    def put(self, row: bytes, value: bytes | None) -> None:
        """Change a row; None deletes it."""
        self._rows[row] = value
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what is collected."""
        if self._rows:
            self.engine.write(self._rows)
            self._rows = {}

    def get(self, row: bytes) -> bytes | None:
        """The value of a row as it is now."""
        return self._rows[row] if row in self._rows else self.engine.get(row)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows under a prefix as they are now, whatever is changed meanwhile."""
        self.flush()
        return self.engine.scan(prefix, rows.end_of(prefix))

    def first(self, start: bytes, stop: bytes) -> bytes | None:
        """The first row of a range."""
        self.flush()
        return next(self.engine.scan_keys(start, stop), None)

    def delete_all(self, prefix: bytes) -> int:
        """Delete the rows under a prefix; returns how many there were."""
        count = 0
        for row, _ in self.scan(prefix):
            self.put(row, None)
            count += 1
        return count


def recount(
    engine: Engine, may_be_lost: Callable[[bytes, bytes], bool] = lambda low, high: False
) -> Iterator[Problem]:
    """Mend a store, with a line for whatever is lost. Requires: nobody else uses it.

    `may_be_lost` says whether rows of a range may be lost: a missing piece of a string is zeros,
    if it is not lost.
    """
    return _Recount(engine, may_be_lost).run()


class _Recount:
    def __init__(self, engine: Engine, may_be_lost: Callable[[bytes, bytes], bool]) -> None:
        self._draft = Draft(engine)
        self._may_be_lost = may_be_lost
        self._mark = int.from_bytes(engine.get(rows.VERSION_ROW) or b"", "big")

    def run(self) -> Iterator[Problem]:
        draft = self._draft
        draft.put(rows.FORMAT_ROW, rows.U32.pack(rows.LAYOUT))
        yield from self._drop_unknown()
        found = namespaces_of(draft.engine)
        dropped = {row[2:] for row, _ in draft.scan(rows.DROPPED)}
        yield from self._assign_databases(sorted(found - dropped))
        for ns in sorted(found - dropped):
            yield from self._mend_namespace(ns)
        draft.put(rows.VERSION_ROW, rows.U64.pack(self._mark))
        self._leave_cache_behind()
        draft.flush()

    def _leave_cache_behind(self) -> None:
        """No entry of the Redis tier may be taken for true: the store is an older one, in part."""
        known = int.from_bytes(self._draft.get(rows.GENERATION_ROW) or b"", "big")
        fresh = max(known, int(time.time())) + 1
        self._draft.put(rows.GENERATION_ROW, rows.U32.pack(fresh & 0xFFFFFFFF))

    def _drop_unknown(self) -> Iterator[Problem]:
        at = b""
        for prefix in (*sorted(rows.PREFIXES), rows.END):
            for row in self._draft.engine.scan_keys(at, prefix):
                if row not in SINGLE_ROWS:
                    self._draft.put(row, None)
                    yield Problem(b"", row, "a row of an unknown kind was deleted")
            at = rows.end_of(prefix) if prefix != rows.END else prefix

    # databases

    def _assign_databases(self, found: list[bytes]) -> Iterator[Problem]:
        """See that every namespace with rows is a database's; the row that says it may be lost."""
        raw = self._draft.get(rows.DATABASES_ROW)
        names = raw.split(b",") if raw else []
        tenants, lost_names = yield from self._mend_tenants()
        strays = [
            ns[:-1]
            for ns in found
            if not _is_named(ns[:-1], names) and not any(one.owns(ns) for one in tenants)
        ]
        yield from self._give_back(strays, found, tenants, lost_names)
        strays = [name for name in strays if not _TENANTS_OWN.match(name)]
        for name in reversed(strays):
            index = _own_index(name)
            _extend(names, index)
            if index is None or names[index] + b":" in found:
                index = 0
                while _name_of(names, index) + b":" in found:
                    index += 1
                _extend(names, index)
            names[index] = name
            yield Problem(name, b"", f"the namespace was taken for database {index}")
        if strays:
            self._draft.put(rows.DATABASES_ROW, b",".join(names))
        numbers = [_number(ns[:-1]) for ns in found]
        stored = int.from_bytes(self._draft.get(rows.NAMESPACES_ROW) or b"", "big")
        if max(numbers, default=0) > stored:
            self._draft.put(rows.NAMESPACES_ROW, rows.U64.pack(max(numbers)))

    def _give_back(
        self,
        strays: list[bytes],
        found: list[bytes],
        tenants: list[TenantRecord],
        lost_names: list[bytes],
    ) -> Iterator[Problem]:
        """A tenant's databases stay a tenant's, if it has to be made anew: nobody else sees them.

        Its id stands in their names; its own name is known if only one such row was lost.
        """
        known = {tenant.id: tenant for tenant in tenants}
        matches = [match for name in strays if (match := _TENANTS_OWN.match(name))]
        lost_ids = {int(match[1]) for match in matches} - known.keys()
        for match in matches:
            id_, number = int(match[1]), int(match[2])
            tenant = known.get(id_)
            if tenant is None:
                is_only_one = len(lost_ids) == len(lost_names) == 1
                name = lost_names[0] if is_only_one else b"recovered-%d" % id_
                tenant = known[id_] = TenantRecord(name, id_, Quota(), {})
                tenants.append(tenant)
            while tenant.namespace(number) in found and match.string + b":" != tenant.namespace(
                number
            ):
                number += 1
            tenant.rename(number, match.string + b":")
            self._draft.put(tenant.row, encode_tenant(tenant))
            shown = tenant.name.decode()
            yield Problem(match.string, b"", f"given to namespace {shown}, as database {number}")
        last = max(known, default=0)
        if last > int.from_bytes(self._draft.get(rows.TENANTS_ROW) or b"", "big"):
            self._draft.put(rows.TENANTS_ROW, rows.U64.pack(last))

    def _mend_tenants(self) -> Generator[Problem, None, tuple[list[TenantRecord], list[bytes]]]:
        """The tenants whose rows can be read, and the names of the others, whose rows go."""
        tenants: list[TenantRecord] = []
        lost_names: list[bytes] = []
        for row, raw in self._draft.scan(rows.TENANT):
            try:
                tenants.append(decode_tenant(row, raw))
            except CommandError:
                self._draft.put(row, None)
                if is_name(name := row[len(rows.TENANT) :]):
                    lost_names.append(name)
                yield Problem(b"", row, "the row of a tenant was unreadable, and was deleted")
        stored = int.from_bytes(self._draft.get(rows.TENANTS_ROW) or b"", "big")
        last = max((tenant.id for tenant in tenants), default=0)
        if last > stored:
            self._draft.put(rows.TENANTS_ROW, rows.U64.pack(last))
        return tenants, lost_names

    # one namespace

    def _mend_namespace(self, ns: bytes) -> Iterator[Problem]:
        live = expiring = 0
        for row, raw in self._draft.scan(rows.META + ns):
            key = rows.key_of_meta_row(ns, row)
            meta = self._decoded(ns, key, row, raw)
            if meta is None:
                self._draft.put(row, None)
                yield Problem(ns[:-1], key, "its meta cannot be read; the key is lost")
                continue
            if self._was_deleted(ns, key, meta):
                self._draft.put(row, None)
                continue
            mended, lost = self._mended(ns, key, meta)
            if lost:
                yield Problem(ns[:-1], key, lost)
            if mended is not meta:
                self._draft.put(row, None if mended is None else metas.encode(mended))
            if mended is not None:
                live += 1
                expiring += self._index_expiry(ns, key, mended)
        self._mend_indexes(ns)
        for prefix in rows.PATH_PREFIXES:
            yield from self._queue_orphans(ns, prefix)
        self._draft.put(rows.LIVE + ns, rows.U64.pack(live))
        self._draft.put(rows.EXPIRING + ns, rows.U64.pack(expiring))

    def _decoded(self, ns: bytes, key: bytes, row: bytes, raw: bytes) -> Meta | None:
        try:
            meta = metas.decode(row, len(ns), raw)
        except CommandError:
            return None
        self._mark = max(self._mark, meta.version)
        return meta if rows.meta_row(ns, key) == row else None

    def _was_deleted(self, ns: bytes, key: bytes, meta: Meta) -> bool:
        """Whether the incarnation is queued as dead: then only the meta's deletion was lost."""
        queued = rows.garbage_row(ns, meta.version, key)
        kind = self._draft.get(queued)
        if kind == _BUILDING:
            self._draft.put(queued, None)
        return kind is not None and kind != _BUILDING

    def _index_expiry(self, ns: bytes, key: bytes, meta: Meta) -> bool:
        if meta.expire_ms == NO_EXPIRY:
            return False
        index = rows.expiry_row(ns, meta.expire_ms, key)
        if self._draft.get(index) is None:
            self._draft.put(index, b"")
        return True

    def _mend_indexes(self, ns: bytes) -> None:
        """Take away what points to nothing."""
        for row, _ in self._draft.scan(rows.EXPIRY + ns):
            expire_ms, key = rows.parse_expiry_row(ns, row)
            meta = self._find(ns, key)
            if meta is None or meta.expire_ms != expire_ms:
                self._draft.put(row, None)
        for row, _ in self._draft.scan(rows.FIELD_EXPIRY + ns):
            expire_ms, version, key = rows.parse_field_expiry_row(ns, row)
            if not self._has_fields_due(ns, expire_ms, version, key):
                self._draft.put(row, None)
        for row, _ in self._draft.scan(rows.GARBAGE + ns):
            self._mark = max(self._mark, rows.parse_garbage_row(ns, row)[0])

    def _has_fields_due(self, ns: bytes, expire_ms: int, version: int, key: bytes) -> bool:
        """Whether a hash has its first expire-time then; a dead one takes its `t#` row with it."""
        meta = self._find(ns, key)
        queued = self._draft.get(rows.garbage_row(ns, version, key)) or _BUILDING
        if (meta is None or meta.version != version) and queued == _BUILDING:
            return False
        order = rows.ORDER + rows.sub_prefix(rows.meta_row(ns, key), len(ns), version)[2:]
        first = self._draft.first(order, rows.end_of(order)) or b""
        return first[len(order) : len(order) + 8] == rows.U64.pack(expire_ms)

    def _find(self, ns: bytes, key: bytes) -> Meta | None:
        row = rows.meta_row(ns, key)
        raw = self._draft.get(row)
        return None if raw is None else metas.decode(row, len(ns), raw)

    def _queue_orphans(self, ns: bytes, prefix: bytes) -> Iterator[Problem]:
        """Rows whose meta is lost: without it their type is not known, so they are reclaimed."""
        at, stop = prefix + ns, rows.end_of(prefix + ns)
        while (row := self._draft.first(at, stop)) is not None:
            place = rows.parse_path(ns, row)
            if place is None:
                self._draft.put(row, None)
                yield Problem(ns[:-1], row, "a row that belongs to no key was deleted")
                at = row + b"\0"
                continue
            key, version = place
            path = rows.sub_prefix(rows.meta_row(ns, key), len(ns), version)[2:]
            at = rows.end_of(prefix + path)
            self._mark = max(self._mark, version)
            meta = self._find(ns, key)
            queued = rows.garbage_row(ns, version, key)
            if meta is not None and meta.version == version:
                if prefix not in meta.format.stored:
                    self._draft.delete_all(prefix + path)
            elif self._draft.get(queued) is None:
                self._draft.put(queued, _BUILDING)
                yield Problem(
                    ns[:-1], key, "its meta is lost; the rows that are left will be deleted"
                )

    # one key

    def _mended(self, ns: bytes, key: bytes, meta: Meta) -> tuple[Meta | None, str]:
        """The meta that fits to the rows that are left, and what is lost, if anything."""
        if meta.type == STRING:
            if meta.sub and self._may_be_lost(meta.sub, rows.end_of(meta.sub)):
                return None, "a piece of it may be lost; the string is left out"
            return meta, ""
        if meta.type == STREAM:
            return recount_stream(self._draft, key, meta)
        if meta.type == LIST:
            return self._mended_list(meta)
        if meta.type == ZSET:
            _MEND_ZSET[meta.format.stored](self._draft, meta)
        if meta.format.remote:
            self._draft.put(rows.REMOTE_ROW, b"")
        if meta.format.timed:
            meta = self._mended_times(ns, key, meta)
        if meta.type == SET:
            self._empty_values(meta)
        return self._counted(meta)

    def _counted(self, meta: Meta) -> tuple[Meta | None, str]:
        if not isinstance(meta.extra, int):
            return meta, ""
        count = sum(1 for _ in self._draft.scan(meta.sub))
        if count == meta.extra:
            return meta, ""
        if not count:
            return None, f"all {meta.extra} elements are lost"
        return meta.with_extra(count), f"{count} elements are left of {meta.extra}"

    def _empty_values(self, meta: Meta) -> None:
        for row, value in self._draft.scan(meta.sub):
            if value:
                self._draft.put(row, b"")

    def _mended_list(self, meta: Meta) -> tuple[Meta | None, str]:
        """Close the gaps, keeping the order."""
        assert isinstance(meta.extra, tuple)
        head, tail = meta.extra
        size = len(meta.sub)
        count = 0
        for row, value in self._draft.scan(meta.sub):
            number = int.from_bytes(row[size:], "big")
            if not head <= number < tail or len(row) != size + 8:
                self._draft.put(row, None)
                continue
            if number != head + count:
                self._draft.put(row, None)
                self._draft.put(meta.sub + rows.sequence(head + count), value)
            count += 1
        if count == tail - head and count:
            return meta, ""
        if not count:
            return None, f"all {tail - head} elements are lost"
        changed = meta.with_extra((head, head + count))
        return changed, f"{count} elements are left of {tail - head}"

    def _mended_times(self, ns: bytes, key: bytes, meta: Meta) -> Meta:
        """Bring the expire-times of fields in line with the fields that are left."""
        draft = self._draft
        for row, at_ms in draft.scan(meta.index):
            field = row[len(meta.index) :]
            if draft.get(meta.sub + field) is None or len(at_ms) != 8:
                draft.put(row, None)
            elif draft.get(meta.order + at_ms + field) is None:
                draft.put(meta.order + at_ms + field, b"")
        for row, value in draft.scan(meta.order):
            at_ms, field = row[len(meta.order) :][:8], row[len(meta.order) + 8 :]
            known = draft.get(meta.index + field)
            if known is None and draft.get(meta.sub + field) is not None:
                draft.put(meta.index + field, at_ms)
            elif known != at_ms:
                draft.put(row, None)
            elif value:
                draft.put(row, b"")
        first = draft.first(meta.order, rows.end_of(meta.order))
        if first is None:
            return meta.turned()
        at = int.from_bytes(first[len(meta.order) :][:8], "big")
        draft.put(rows.field_expiry_row(ns, at, meta.version, key), b"")
        return meta


def _mend_scores(draft: Draft, meta: Meta) -> None:
    """Bring `s#` and `k#` rows in line: either of them tells member and score."""
    for row, value in draft.scan(meta.order):
        score, member = row[len(meta.order) :][:8], row[len(meta.order) + 8 :]
        known = draft.get(meta.sub + member)
        if not _is_score(score) or (known is not None and known != score):
            draft.put(row, None)
            continue
        if known is None:
            draft.put(meta.sub + member, score)
        if value:
            draft.put(row, b"")
    for row, score in draft.scan(meta.sub):
        if not _is_score(score):
            draft.put(row, None)
        elif draft.get(meta.order + score + row[len(meta.sub) :]) is None:
            draft.put(meta.order + score + row[len(meta.sub) :], b"")


def _mend_members(draft: Draft, meta: Meta) -> None:
    """Bring the `i#` rows of long members in line with the `s#` rows."""
    for row, score in draft.scan(meta.sub):
        member = row[len(meta.sub) :]
        if not _is_score(score):
            draft.put(row, None)
        elif len(member) >= rows.LONG_MEMBER:
            draft.put(meta.index + rows.index_of(member), member)
    _drop_wrong_names(draft, meta)


def _drop_wrong_names(draft: Draft, meta: Meta) -> None:
    for row, member in draft.scan(meta.index):
        if rows.index_of(member) != row[len(meta.index) :]:
            draft.put(row, None)


def _drop_wrong_scores(draft: Draft, meta: Meta) -> None:
    for row, score in draft.scan(meta.sub):
        if not _is_score(score):
            draft.put(row, None)


_MEND_ZSET: Final[dict[tuple[bytes, ...], Callable[[Draft, Meta], None]]] = {
    (rows.SUB, rows.ORDER): _mend_scores,
    (rows.SUB,): _drop_wrong_scores,
    (rows.SUB, rows.INDEX): _mend_members,
    (rows.INDEX,): _drop_wrong_names,
}
"""By the rows that a sorted set has."""


def _is_score(raw: bytes) -> bool:
    return len(raw) == 8 and not math.isnan(rows.decode_score(raw))


def _is_named(name: bytes, names: list[bytes]) -> bool:
    return name in names or (name.isdigit() and int(name) >= len(names))


_TENANTS_OWN: Final = re.compile(rb"t(\d{1,9})-(\d{1,4})(?:\.|$)")
"""The name of a namespace that was made for a database of a tenant (rows.first_namespace)."""


def _name_of(names: list[bytes], index: int) -> bytes:
    """The namespace of a database, which has its first if nothing else is said."""
    return names[index] if index < len(names) else b"%d" % index


def _own_index(name: bytes) -> int | None:
    """The database that a namespace was made for."""
    head = name.partition(b".")[0]
    return int(head) if head.isdigit() and int(head) < 10_000 else None


def _number(name: bytes) -> int:
    """The running number in the name of a namespace."""
    digits = name.partition(b".")[2][1:]
    return int(digits) if digits.isdigit() else 0


def _extend(names: list[bytes], index: int | None) -> None:
    if index is not None:
        names += [b"%d" % at for at in range(len(names), index + 1)]
