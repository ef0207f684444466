"""Runs of the same command in a pipeline, spelt out for the usual case.

A pipeline is mostly one command again and again: GET, SET, INCR, a push, HSET, SADD. A streak gets
all requests and the place of the first, serves as many as are of its command and of the usual form,
and says how many those were. What it does not serve, the handler does, which is what a streak is
measured by: the replies and the stored rows are the same (tests/commands/test_streaks.py).

What is spared is a call, a Txn that is filled and emptied, and a meta for each of many changes to
one key. 0.2 to 0.5 us a command instead of 0.9 to 2.5 (pipeline 16, compiled, without the parsing).

Requires, of whoever calls: nothing is unusual about the client or the server (no guard is set, but
that of a replica may be if the command reads), and the keyspace is unobserved. A streak never asks
the engine, so it cannot fail, and takes no longer than STREAK_MOST commands do, some 30 us. What it
has written is told to replicas at one go, as the requests by which it was.
"""

from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.formats import HASH_PLAIN
from stratakv.encodings.layout.metas import HASH, LIST, NO_EXPIRY, SET, STRING, WHOLE, Extra, Meta
from stratakv.encodings.layout.numbers import INT64_MAX, parse_int
from stratakv.encodings.layout.rows import sequence
from stratakv.proxy.clients.session import Session
from stratakv.proxy.run.rights import STREAK_MOST
from stratakv.proxy.wire.encoding import BULK_HEADS, CRLF, INTEGERS
from stratakv.proxy.wire.requests import Request
from stratakv.storage.row_cache import UNKNOWN

_OK: Final = b"+OK\r\n"
_SHORT: Final = 1024


def _integer(number: int) -> bytes:
    return INTEGERS[number] if 0 <= number < 1024 else b":" + str(number).encode() + CRLF


def _live(txn: Txn, key: bytes, type_: int) -> Meta | None:
    """The meta of a live key of that type, if it is cached."""
    meta = txn.db.cache.get(key)
    if meta is None or meta.type != type_ or -1 != meta.expire_ms <= txn.clock.now_ms:
        return None
    meta.used = txn.clock.now_ms
    return meta


def _put(txn: Txn, key: bytes, old: Meta, extra: Extra) -> None:
    """Another value or count for a key, as `Txn.update` and `Txn.apply` do it together."""
    meta = Meta(old.row, old.type, old.encoding, old.version, old.expire_ms, extra, old.sub)
    meta.charge = old.charge
    txn.db.cache[key] = txn.db.dirty[key] = meta
    txn.keyspace.dirty = True


def _tell(session: Session, written: list[Request]) -> None:
    """Let replicas know of requests that have written, each by itself."""
    txn = session.txn
    txn.keyspace.on_run(txn.db.index, written)
    session.has_written = True


def get(session: Session, requests: list[Request], at: int) -> int:
    """GET key: short strings that are cached."""
    txn, out = session.txn, session.out
    cache, now_ms = txn.db.cache, txn.clock.now_ms
    word = requests[at][0]
    number, stop = at, min(len(requests), at + STREAK_MOST)
    while number < stop:
        request = requests[number]
        if len(request) != 2 or request[0] != word:
            break
        meta = cache.get(request[1])
        if meta is None or meta.type != STRING or meta.encoding != WHOLE:
            break
        if -1 != meta.expire_ms <= now_ms:
            break
        value = meta.value
        if len(value) >= _SHORT:
            break
        meta.used = now_ms
        out.append(BULK_HEADS[len(value)] + value + CRLF)
        number += 1
    session.needs_commit = True
    return number - at


def set_(session: Session, requests: list[Request], at: int) -> int:
    """SET key value: over short strings without an expire-time."""
    txn, out, marks = session.txn, session.out, session.marks
    cache, dirty = txn.db.cache, txn.db.dirty
    most = txn.keyspace.limits.piece_bytes
    word = requests[at][0]
    number, stop = at, min(len(requests), at + STREAK_MOST)
    while number < stop:
        request = requests[number]
        if len(request) != 3 or request[0] != word:
            break
        key, value = request[1], request[2]
        old = cache.get(key)
        if len(value) > most:
            break
        if old is None:
            old = txn.presume(key)
            if old is None:
                break
            txn.db.arrivals.append(key)
        if old.type != STRING or old.encoding != WHOLE or old.expire_ms != NO_EXPIRY:
            break
        meta = Meta(old.row, STRING, WHOLE, old.version, NO_EXPIRY, value, b"")
        meta.charge = old.charge
        cache[key] = dirty[key] = meta
        marks.append(len(out))
        out.append(_OK)
        number += 1
    if number > at:
        txn.keyspace.dirty = session.needs_commit = True
        if txn.keyspace.replicates:
            _tell(session, requests[at:number])
    return number - at


def incr(session: Session, requests: list[Request], at: int) -> int:
    """INCR key: strings that show a number."""
    txn, out, marks = session.txn, session.out, session.marks
    word, key = requests[at][0], requests[at][1]
    meta: Meta | None = None
    value = 0
    number, stop = at, min(len(requests), at + STREAK_MOST)
    while number < stop:
        request = requests[number]
        if len(request) != 2 or request[0] != word:
            break
        if meta is None or request[1] != key:
            if meta is not None:
                _put(txn, key, meta, str(value).encode())
            key = request[1]
            meta = _live(txn, key, STRING)
            if meta is None or meta.encoding != WHOLE:
                meta = None
                break
            shown = parse_int(meta.value)
            if shown is None:
                meta = None
                break
            value = shown
        if value == INT64_MAX:
            break
        value += 1
        marks.append(len(out))
        out.append(_integer(value))
        number += 1
    if number > at:
        if meta is not None:
            _put(txn, key, meta, str(value).encode())
        session.needs_commit = True
        if txn.keyspace.replicates:
            _tell(session, requests[at:number])
    return number - at


def lpush(session: Session, requests: list[Request], at: int) -> int:
    """LPUSH key element: lists that are there."""
    return _push(session, requests, at, left=True)


def rpush(session: Session, requests: list[Request], at: int) -> int:
    """RPUSH key element: lists that are there."""
    return _push(session, requests, at, left=False)


def _push(session: Session, requests: list[Request], at: int, *, left: bool) -> int:
    txn, out, marks = session.txn, session.out, session.marks
    pending = txn.store.pending
    word, key = requests[at][0], requests[at][1]
    meta: Meta | None = None
    ends = (0, 0)
    sub = b""
    number, stop = at, min(len(requests), at + STREAK_MOST)
    while number < stop:
        request = requests[number]
        if len(request) != 3 or request[0] != word:
            break
        if meta is None or request[1] != key:
            if meta is not None:
                _put(txn, key, meta, ends)
            key = request[1]
            meta = _live(txn, key, LIST)
            if meta is None:
                break
            extra = meta.extra
            assert isinstance(extra, tuple)
            ends, sub = extra, meta.sub
        head, tail = ends
        if left:
            head -= 1
            pending[sub + sequence(head)] = request[2]
        else:
            pending[sub + sequence(tail)] = request[2]
            tail += 1
        ends = (head, tail)
        marks.append(len(out))
        out.append(_integer(tail - head))
        number += 1
    if number > at:
        if meta is not None:
            _put(txn, key, meta, ends)
        session.needs_commit = True
        if txn.keyspace.replicates:
            _tell(session, requests[at:number])
    return number - at


def hset(session: Session, requests: list[Request], at: int) -> int:
    """HSET key field value: hashes that count, fields that are known to be there or not."""
    return _put_members(session, requests, at, HASH, 4)


def sadd(session: Session, requests: list[Request], at: int) -> int:
    """SADD key member: sets that count, members that are known to be there or not."""
    return _put_members(session, requests, at, SET, 3)


def _put_members(session: Session, requests: list[Request], at: int, type_: int, words: int) -> int:
    """Put rows of collections that count: with a value if the requests have four words."""
    txn, out, marks = session.txn, session.out, session.marks
    store = txn.store
    first_reply, first_mark = len(out), len(marks)
    word, key = requests[at][0], requests[at][1]
    meta: Meta | None = None
    known = count = 0
    sub = b""
    members: dict[bytes, bytes] | None = None
    number, stop = at, min(len(requests), at + STREAK_MOST)
    while number < stop:
        request = requests[number]
        if len(request) != words or request[0] != word:
            break
        if meta is None or request[1] != key:
            if count != known and meta is not None:
                _put(txn, key, meta, count)
            key = request[1]
            meta = _live(txn, key, type_)
            if meta is None or not meta.format.plain or meta.extra is None:
                meta = None
                break
            extra = meta.extra
            assert isinstance(extra, int)
            known = count = extra
            sub, members = meta.sub, meta.members
        row = sub + request[2]
        stored = store.peek(row) if members is None else members.get(request[2])
        if stored is UNKNOWN:
            break
        if stored is None:
            if members is not None:
                break  # it is to be known as well
            count += 1
        elif members is not None and words == 4:
            txn.db.renew_member(key, request[2], request[3])
            members = meta.members
        if stored is None or words == 4:
            store.pending[row] = request[3] if words == 4 else b""
            marks.append(len(out))
        out.append(INTEGERS[1] if stored is None else INTEGERS[0])
        number += 1
    if count != known and meta is not None:
        _put(txn, key, meta, count)
    session.needs_commit = True
    if txn.keyspace.replicates and len(marks) > first_mark:
        _tell(session, [requests[at + mark - first_reply] for mark in marks[first_mark:]])
    return number - at


def hget(session: Session, requests: list[Request], at: int) -> int:
    """HGET key field: fields that are there, and remembered."""
    txn, out = session.txn, session.out
    store = txn.store
    word, key = requests[at][0], requests[at][1]
    meta: Meta | None = None
    sub = b""
    members: dict[bytes, bytes] | None = None
    number, stop = at, min(len(requests), at + STREAK_MOST)
    while number < stop:
        request = requests[number]
        if len(request) != 3 or request[0] != word:
            break
        if meta is None or request[1] != key:
            key = request[1]
            meta = _live(txn, key, HASH)
            if meta is None or not HASH_PLAIN[meta.encoding]:
                break
            sub, members = meta.sub, meta.members
        value = store.peek(sub + request[2]) if members is None else members.get(request[2])
        if value is UNKNOWN or value is None or len(value) >= _SHORT:
            break
        out.append(BULK_HEADS[len(value)] + value + CRLF)
        number += 1
    session.needs_commit = True
    return number - at
