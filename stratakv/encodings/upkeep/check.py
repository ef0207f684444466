"""`stratakv check DIR`: whether everything in a closed store agrees with everything else.

The server must not be running: LevelDB lets one process in. The check walks each range once and
looks the counterparts up one by one, so its memory does not grow with the store.

What is held to
1.  Every row is of a known kind, its name can be taken apart, and its namespace is a database's.
2.  `!format` is one we read; `!version` is at least every version in the store.
3.  A counted collection has as many rows as its meta says, and none is empty. A list's rows are
    head to tail without a gap. A stream's counts are exact, and its pending entries have owners.
    The pieces of a string lie within its length.
4.  A sorted set's `s#` and `k#` rows agree both ways.
5.  Metas with an expire-time and `e#` rows agree both ways.
6.  `n#` and `x#` are exact.
7.  A field's expire-time has its `i#` and its `k#` row, and the hash a `t#` row for the first.
8.  The rows of tenants can be read, and have ids that were given out, each its own.
9.  Every sub row belongs to a live incarnation or to one queued in `g#`, never to both.

Rows of a dropped namespace (`d#`) are on their way out and not looked at.
"""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from stratakv.encodings.keyspace.limits import PIECE_BYTES
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import HASH, LIST, SET, STREAM, STRING, ZSET, Meta
from stratakv.encodings.layout.tenant_records import TenantRecord, decode_tenant
from stratakv.encodings.upkeep.check_streams import check_stream
from stratakv.encodings.upkeep.damage import describe_damage
from stratakv.errors import CommandError, StoreUnavailable, quote
from stratakv.storage.contract import Reader
from stratakv.storage.engines import open_directory
from stratakv.storage.leveldb.survey import damages_of, is_database, is_in_use

PROGRESS_ROWS = 50_000

SINGLE_ROWS = frozenset(
    (
        rows.FORMAT_ROW,
        rows.VERSION_ROW,
        rows.GENERATION_ROW,
        rows.DATABASES_ROW,
        rows.NAMESPACES_ROW,
        rows.REMOTE_ROW,
        rows.REPLICATION_ROW,
        rows.ZSET_STORE_ROW,
        rows.IMPORT_ROW,
        rows.TENANTS_ROW,
    )
)

Progress = Callable[[int], None]


class Problem(NamedTuple):
    """Something that does not agree; `key` is a client's key, or the row where there is none."""

    namespace: bytes
    key: bytes
    text: str

    def __str__(self) -> str:
        place = quote(self.key).decode("latin-1")
        if self.namespace:
            place += f" in {self.namespace.decode('latin-1')}"
        return f"{place}: {self.text}"


def check_directory(path: Path) -> int:
    """Check a data directory: a line per problem, then a summary. 0 if there is none, else 1.

    First every block of every file with its checksum. Only if all can be read is the database
    opened, and its rows are held to the invariants.
    """
    if not path.is_dir() or not is_database(path):
        raise StoreUnavailable(f"{path} is not a data directory")
    if is_in_use(path):
        raise StoreUnavailable(f"data directory {path} is in use by another process")
    found = damaged = 0
    for damage in damages_of(path):
        found += 1
        damaged += damage.keeps_from_reading
        print(describe_damage(path, damage))
    if damaged:
        print(f"{path}: {problems_text(found)}; the invariants are checked when it is repaired")
        return 1
    checker = None
    try:
        with closing(open_directory(path)) as engine:
            checker = Checker(engine, show_progress if sys.stderr.isatty() else None)
            for problem in checker.run():
                found += 1
                print(problem)
    except CommandError as error:  # damaged since it was looked at
        found += 1
        print(error.text.decode("latin-1"))
    keys, count = (checker.keys, checker.rows) if checker is not None else (0, 0)
    print(f"{path}: {keys} keys, {count} rows checked, {problems_text(found)}")
    return 1 if found else 0


def problems_text(found: int) -> str:
    """How many were found, for people."""
    return "no problem" if not found else f"{found} problem" + "s" * (found > 1)


def check(reader: Reader) -> Iterator[Problem]:
    """Every problem of a store, one by one."""
    return Checker(reader).run()


def show_progress(count: int) -> None:
    """A line that is written over and over."""
    print(f"\r{count} rows", end="", file=sys.stderr, flush=True)


def namespaces_of(reader: Reader) -> set[bytes]:
    """Every namespace that has rows, found by leaping from one to the next."""
    found: set[bytes] = set()
    for prefix in rows.KEYED_PREFIXES:
        at, stop = prefix, rows.end_of(prefix)
        while (row := next(reader.scan_keys(at, stop), None)) is not None:
            ns = row[2:].partition(b":")[0] + b":"
            found.add(ns)
            at = rows.end_of(prefix + ns)
    return found


class Checker:
    """One pass over a store; `keys` and `rows` count what was seen."""

    def __init__(self, reader: Reader, progress: Progress | None = None) -> None:
        self._reader = reader
        self._progress = progress
        self._mark = 0
        self._tenants: list[TenantRecord] = []
        self.keys = 0
        self.rows = 0

    def run(self) -> Iterator[Problem]:
        """Every problem, as it is found."""
        found = int.from_bytes(self._reader.get(rows.FORMAT_ROW) or b"", "big")
        if not 1 <= found <= rows.LAYOUT:
            yield Problem(b"", rows.FORMAT_ROW, f"format {found}; this version reads {rows.LAYOUT}")
            return
        self._mark = int.from_bytes(self._reader.get(rows.VERSION_ROW) or b"", "big")
        yield from self._check_kinds()
        yield from self._check_tenants()
        dropped = {row[2:] for row in self._keys_of(rows.DROPPED)}
        for ns in sorted(namespaces_of(self._reader) - dropped):
            if not self._is_database(ns):
                yield Problem(ns[:-1], b"", "the namespace belongs to no database")
            yield from self._check_namespace(ns)

    # rows by kind and namespace

    def _keys_of(self, prefix: bytes) -> Iterator[bytes]:
        return self._reader.scan_keys(prefix, rows.end_of(prefix))

    def _count(self) -> None:
        self.rows += 1
        if self._progress is not None and not self.rows % PROGRESS_ROWS:
            self._progress(self.rows)

    def _first(self, start: bytes, stop: bytes) -> bytes | None:
        return next(self._reader.scan_keys(start, stop), None)

    def _check_kinds(self) -> Iterator[Problem]:
        """Rows that stand outside of every known range."""
        at = b""
        for prefix in sorted(rows.PREFIXES):
            yield from self._unknown(at, prefix)
            at = rows.end_of(prefix)
        yield from self._unknown(at, rows.END)

    def _unknown(self, start: bytes, stop: bytes) -> Iterator[Problem]:
        for row in self._reader.scan_keys(start, stop):
            self._count()
            if row not in SINGLE_ROWS:
                yield Problem(b"", row, "a row of an unknown kind")

    def _check_tenants(self) -> Iterator[Problem]:
        """The rows of tenants can be read, and no two have the same id."""
        last = int.from_bytes(self._reader.get(rows.TENANTS_ROW) or b"", "big")
        known: set[int] = set()
        for row, raw in self._reader.scan(rows.TENANT, rows.end_of(rows.TENANT)):
            self._count()
            try:
                tenant = decode_tenant(row, raw)
            except CommandError as error:
                yield Problem(b"", row, error.text.decode("latin-1"))
                continue
            if not 0 < tenant.id <= last or tenant.id in known:
                yield Problem(b"", row, f"id {tenant.id} was never given, or is another's")
            known.add(tenant.id)
            self._tenants.append(tenant)

    def _is_database(self, ns: bytes) -> bool:
        raw = self._reader.get(rows.DATABASES_ROW)
        names = raw.split(b",") if raw else []
        name = ns[:-1]
        if any(tenant.owns(ns) for tenant in self._tenants):
            return True
        return name in names or (name.isdigit() and int(name) >= len(names))

    def _check_namespace(self, ns: bytes) -> Iterator[Problem]:
        live = expiring = 0
        for row, raw in self._reader.scan(rows.META + ns, rows.end_of(rows.META + ns)):
            live += 1
            self._count()
            key = rows.key_of_meta_row(ns, row)
            try:
                meta = metas.decode(row, len(ns), raw)
            except CommandError as error:
                yield Problem(ns[:-1], key, error.text.decode("latin-1"))
                continue
            expiring += meta.expire_ms != metas.NO_EXPIRY
            for text in self._check_key(ns, key, meta):
                yield Problem(ns[:-1], key, text)
        self.keys += live
        yield from self._check_total(ns, rows.LIVE, "keys", live)
        yield from self._check_total(ns, rows.EXPIRING, "keys with an expire-time", expiring)
        yield from self._check_index(ns)
        yield from self._check_field_index(ns)
        yield from self._check_queue(ns)
        for prefix in (rows.SUB, rows.ORDER, rows.INDEX):
            yield from self._check_owners(ns, prefix)

    def _check_total(self, ns: bytes, prefix: bytes, what: str, found: int) -> Iterator[Problem]:
        self._count()
        stored = int.from_bytes(self._reader.get(prefix + ns) or b"", "big")
        if stored != found:
            yield Problem(ns[:-1], prefix + ns, f"says {stored} {what}, there are {found}")

    # from a meta to its rows

    def _check_key(self, ns: bytes, key: bytes, meta: Meta) -> Iterator[str]:
        if rows.meta_row(ns, key) != meta.row:
            yield "the meta's row does not begin with the key's hash"
        if meta.version > self._mark:
            yield f"version {meta.version} is above the mark {self._mark}"
        if meta.expire_ms != metas.NO_EXPIRY:
            index = rows.expiry_row(ns, meta.expire_ms, key)
            if self._reader.get(index) != b"":
                yield "has an expire-time but no e# row"
        if meta.type == LIST:
            yield from self._check_list(meta)
        elif meta.type == STREAM:
            yield from check_stream(self._reader, key, meta, self._count)
        elif meta.type == STRING:
            if meta.format.stored:
                yield from self._check_pieces(meta)
        else:
            yield from self._check_collection(meta)
        if meta.format.timed:
            yield from self._check_first_time(ns, key, meta)

    def _check_list(self, meta: Meta) -> Iterator[str]:
        assert isinstance(meta.extra, tuple)
        head, tail = meta.extra
        expected = head
        for row in self._keys_of(meta.sub):
            self._count()
            if row != meta.sub + rows.sequence(expected):
                yield f"element {expected - head} of {tail - head} is not where it should be"
                return
            expected += 1
        if expected != tail or head >= tail:
            yield f"the meta says {tail - head} elements, there are {expected - head}"

    def _check_pieces(self, meta: Meta) -> Iterator[str]:
        """Pieces may be missing, but none may be too long or reach beyond the length."""
        assert isinstance(meta.extra, int)
        for row, piece in self._reader.scan(meta.sub, rows.end_of(meta.sub)):
            self._count()
            name = row[len(meta.sub) :]
            if len(name) != rows.U32.size:
                yield f"a piece has the name {shown(name)}, which is no number"
                continue
            number = int.from_bytes(name, "big")
            room = min(PIECE_BYTES, meta.extra - number * PIECE_BYTES)
            if len(piece) > room:
                yield f"piece {number} has {len(piece)} bytes, there is room for {max(0, room)}"

    def _check_collection(self, meta: Meta) -> Iterator[str]:
        counts = dict.fromkeys(meta.format.stored, 0)
        for kind in counts:
            prefix = kind + meta.sub[2:]
            for row, value in self._reader.scan(prefix, rows.end_of(prefix)):
                self._count()
                counts[kind] += 1
                yield from self._check_row(meta, kind, row[len(prefix) :], value)
        members = counts.get(rows.SUB, 0)
        if isinstance(meta.extra, int) and (members != meta.extra or not members):
            yield f"the meta says {meta.extra} elements, there are {members}"

    def _check_row(self, meta: Meta, kind: bytes, name: bytes, value: bytes) -> Iterator[str]:
        if meta.type == SET and value:
            yield f"member {shown(name)} has a value"
        elif meta.type == HASH:
            yield from self._check_field(meta, kind, name, value)
        elif meta.type == ZSET and kind == rows.SUB:
            yield from self._check_member(meta, name, value)
        elif kind == rows.ORDER:
            score, member = name[:8], name[8:]
            if value or self._reader.get(meta.sub + member) != score:
                yield f"k# row of member {shown(member)} has no s# row of that score"
        elif kind == rows.INDEX and rows.index_of(value) != name:
            yield f"i# row of member {shown(value)} has another member's name"

    def _check_field(self, meta: Meta, kind: bytes, name: bytes, value: bytes) -> Iterator[str]:
        if kind == rows.ORDER:
            at_ms, field = name[:8], name[8:]
            if value or self._reader.get(meta.index + field) != at_ms:
                yield f"k# row of field {shown(field)} has no i# row of that time"
        elif kind == rows.INDEX:
            if self._reader.get(meta.order + value + name) is None:
                yield f"field {shown(name)} has no k# row of its time"
            if self._reader.get(meta.sub + name) is None:
                yield f"field {shown(name)} has a time but no s# row"

    def _check_first_time(self, ns: bytes, key: bytes, meta: Meta) -> Iterator[str]:
        first = self._first(meta.order, rows.end_of(meta.order))
        if first is None:
            yield "is of a version with expire-times but has none"
            return
        at_ms = int.from_bytes(first[len(meta.order) : len(meta.order) + 8], "big")
        if self._reader.get(rows.field_expiry_row(ns, at_ms, meta.version, key)) != b"":
            yield f"has a field that expires at {at_ms} but no t# row"

    def _check_member(self, meta: Meta, member: bytes, score: bytes) -> Iterator[str]:
        kinds = meta.format.stored
        if len(score) != 8 or math.isnan(rows.decode_score(score)):
            yield f"member {shown(member)} has no valid score"
        elif rows.ORDER in kinds and self._reader.get(meta.order + score + member) is None:
            yield f"member {shown(member)} has no k# row"
        elif rows.INDEX in kinds and not self._is_indexed(meta, member):
            yield f"member {shown(member)} has no i# row"

    def _is_indexed(self, meta: Meta, member: bytes) -> bool:
        if len(member) < rows.LONG_MEMBER:
            return True
        return self._reader.get(meta.index + rows.index_of(member)) == member

    # from a row to its meta

    def _find(self, ns: bytes, key: bytes) -> Meta | None:
        row = rows.meta_row(ns, key)
        raw = self._reader.get(row)
        try:
            return None if raw is None else metas.decode(row, len(ns), raw)
        except CommandError:
            return None  # reported where the metas are walked

    def _check_index(self, ns: bytes) -> Iterator[Problem]:
        for row in self._keys_of(rows.EXPIRY + ns):
            self._count()
            expire_ms, key = rows.parse_expiry_row(ns, row)
            meta = self._find(ns, key)
            if meta is None or meta.expire_ms != expire_ms:
                yield Problem(ns[:-1], key, f"e# row for {expire_ms} without such a key")

    def _check_field_index(self, ns: bytes) -> Iterator[Problem]:
        """Whatever has a `t#` row has fields that expire then, and none before."""
        for row in self._keys_of(rows.FIELD_EXPIRY + ns):
            self._count()
            expire_ms, version, key = rows.parse_field_expiry_row(ns, row)
            order = rows.ORDER + rows.sub_prefix(rows.meta_row(ns, key), len(ns), version)[2:]
            first = self._first(order, rows.end_of(order)) or b""
            if first[len(order) : len(order) + 8] != rows.U64.pack(expire_ms):
                yield Problem(ns[:-1], key, f"t# row for {expire_ms} without such a field")

    def _check_queue(self, ns: bytes) -> Iterator[Problem]:
        for row in self._keys_of(rows.GARBAGE + ns):
            self._count()
            version, key = rows.parse_garbage_row(ns, row)
            meta = self._find(ns, key)
            if meta is not None and meta.version == version:
                yield Problem(ns[:-1], key, "is live and queued in g#")
            if version > self._mark:
                yield Problem(ns[:-1], key, f"g# version {version} is above the mark {self._mark}")

    def _check_owners(self, ns: bytes, prefix: bytes) -> Iterator[Problem]:
        """Leap from incarnation to incarnation; each must be live or queued."""
        at, stop = prefix + ns, rows.end_of(prefix + ns)
        while (row := self._first(at, stop)) is not None:
            place = rows.parse_path(ns, row)
            if place is None:
                yield Problem(ns[:-1], row, "a sub row whose name cannot be taken apart")
                at = row + b"\0"
                continue
            key, version = place
            path = rows.sub_prefix(rows.meta_row(ns, key), len(ns), version)[2:]
            if not self._has_owner(ns, prefix, key, version):
                count = sum(1 for _ in self._keys_of(prefix + path))
                text = f"{count} {prefix.decode()} rows of version {version} belong to nothing"
                yield Problem(ns[:-1], key, text)
            at = rows.end_of(prefix + path)

    def _has_owner(self, ns: bytes, prefix: bytes, key: bytes, version: int) -> bool:
        meta = self._find(ns, key)
        if meta is not None and meta.version == version:
            return prefix in meta.format.stored
        return self._reader.get(rows.garbage_row(ns, version, key)) is not None


def shown(raw: bytes) -> str:
    """Bytes of a client for people."""
    return quote(raw).decode("latin-1")
