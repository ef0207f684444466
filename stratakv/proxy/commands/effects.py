"""Effects: what replicas are told where it is not the command as it was sent.

A replica has to come to the same data at another time and by other chances, and Redis tells its own
the same: elements that were chosen are named, times are absolute, blocking commands are plain. A
function here gets the Txn of a command that has run and is not applied yet, the request, and the
reply; it gives the commands that are sent instead. They stand in the table, with the commands.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import ABSENT, NO_EXPIRY
from stratakv.encodings.types.hashes import field_times
from stratakv.encodings.types.streams import stream_groups, streams
from stratakv.encodings.types.streams.stream_groups import Group
from stratakv.encodings.types.strings import strings
from stratakv.proxy.arguments.stream_options import find_id, stream_keys
from stratakv.proxy.wire.replies import Stream

Words = Sequence[bytes]
Told = Iterable[Words]


def nothing(txn: Txn, request: Words, reply: Any) -> Told:
    """The command tells replicas by itself, or there is nothing to tell."""
    return ()


# strings and expire-times


def of_set(txn: Txn, request: Words, reply: Any) -> Told:
    """SET with an expire-time: an absolute one, without conditions."""
    if len(request) == 3:
        return (request,)
    key, value = request[1], request[2]
    options = [word.upper() for word in request[3:]]
    if b"GET" not in options:
        is_set = reply is not None
    else:
        is_set = {b"NX", b"XX"}.isdisjoint(options) or strings.find(txn, key) == value
    if not is_set:
        return ()
    plain = [word for word in request[3:] if word.upper() != b"GET"]
    return _assignment(txn, key, value, (b"SET", key, value, *plain))


def of_setex(txn: Txn, request: Words, reply: Any) -> Told:
    """SETEX and PSETEX: as SET."""
    return _assignment(txn, request[1], request[3], request)


def _assignment(txn: Txn, key: bytes, value: bytes, otherwise: Words) -> Told:
    """The assignment of a value with the expire-time that the key has now, if it has one."""
    meta = txn.metas.get(key)
    if meta is None or meta.expire_ms == NO_EXPIRY:
        return (otherwise,)
    return ((b"SET", key, value, b"PXAT", b"%d" % meta.expire_ms),)


def of_expire(txn: Txn, request: Words, reply: Any) -> Told:
    """EXPIRE and its like, GETEX: the time as it is now, or that there is none, or no key."""
    key = request[1]
    meta = txn.metas.get(key)
    if meta is None:
        return ()
    if meta.type == ABSENT:
        return ((b"DEL", key),)
    if meta.expire_ms == NO_EXPIRY:
        return ((b"PERSIST", key),)
    return ((b"PEXPIREAT", key, b"%d" % meta.expire_ms),)


def of_getset(txn: Txn, request: Words, reply: Any) -> Told:
    """GETSET: a plain SET."""
    return ((b"SET", request[1], request[2]),)


def of_getdel(txn: Txn, request: Words, reply: Any) -> Told:
    """GETDEL: the key is deleted."""
    return () if reply is None else ((b"DEL", request[1]),)


def of_incrbyfloat(txn: Txn, request: Words, reply: Any) -> Told:
    """INCRBYFLOAT: the sum, since others may add otherwise."""
    return ((b"SET", request[1], bytes(reply), b"KEEPTTL"),)


def of_restore(txn: Txn, request: Words, reply: Any) -> Told:
    """RESTORE: the time to live is absolute; how idle or how often used it is told stays."""
    meta = txn.metas.get(request[1])
    if meta is None:
        return ()
    if meta.type == ABSENT:
        return ((b"DEL", request[1]),)
    expire_ms = max(0, meta.expire_ms)
    told = (b"RESTORE", request[1], b"%d" % expire_ms, request[3], b"REPLACE", b"ABSTTL")
    return ((*told, *_use_of(request[4:])),)


def _use_of(options: Words) -> Words:
    """IDLETIME or FREQ with its number, of which RESTORE has one at most."""
    for at, word in enumerate(options):
        if word.upper() in (b"IDLETIME", b"FREQ"):
            return options[at : at + 2]
    return ()


# hashes


def of_hincrbyfloat(txn: Txn, request: Words, reply: Any) -> Told:
    """HINCRBYFLOAT: the sum. HSET would take the field's expire-time away, if it has one."""
    at_ms = field_times.times(txn, request[1], [request[2]])[0]
    yield (b"HSET", request[1], request[2], bytes(reply))
    if at_ms > 0:
        yield _field_time(request[1], at_ms, [request[2]])


def of_field_times(txn: Txn, request: Words, reply: Any) -> Told:
    """HEXPIRE and its like: the times of the fields, as they are now."""
    words = [word.upper() for word in request]
    fields = request[words.index(b"FIELDS") + 2 :]
    return _field_states(txn, request[1], fields)


def of_hsetex(txn: Txn, request: Words, reply: Any) -> Told:
    """HSETEX: the values, then the times."""
    if not reply:
        return
    words = [word.upper() for word in request]
    pairs = request[words.index(b"FIELDS", 2) + 2 :]
    yield (b"HSET", request[1], *pairs)
    yield from _field_states(txn, request[1], pairs[::2])


def _field_states(txn: Txn, key: bytes, fields: Words) -> Iterator[Words]:
    """What makes the times of fields the same elsewhere; fields that are gone are deleted."""
    unique = list(dict.fromkeys(fields))
    by_time: dict[int, list[bytes]] = {}
    for field, at_ms in zip(unique, field_times.times(txn, key, unique), strict=True):
        by_time.setdefault(at_ms, []).append(field)
    for at_ms, found in by_time.items():
        if at_ms == field_times.NO_FIELD:
            yield (b"HDEL", key, *found)
        elif at_ms == field_times.NO_TIME:
            yield (b"HPERSIST", key, b"FIELDS", b"%d" % len(found), *found)
        else:
            yield _field_time(key, at_ms, found)


def _field_time(key: bytes, at_ms: int, fields: list[bytes]) -> Words:
    return (b"HPEXPIREAT", key, b"%d" % at_ms, b"FIELDS", b"%d" % len(fields), *fields)


# elements that were chosen, and commands that wait


def of_spop(txn: Txn, request: Words, reply: Any) -> Told:
    """SPOP: the members by name, or the key if so many were asked for that none is left."""
    key = request[1]
    meta = txn.metas.get(key)
    is_gone = meta is not None and meta.type == ABSENT
    if is_gone and (len(request) > 2 or reply is None):
        return ((b"DEL", key),)
    if reply is None:
        return ()
    members = list(reply.items) if isinstance(reply, Stream) else [reply]
    return ((b"SREM", key, *members),) if members else ()


def of_blpop(txn: Txn, request: Words, reply: Any) -> Told:
    """BLPOP: LPOP of the key that had something."""
    return _pop(b"LPOP", reply)


def of_brpop(txn: Txn, request: Words, reply: Any) -> Told:
    """BRPOP: RPOP, as above."""
    return _pop(b"RPOP", reply)


def of_blmove(txn: Txn, request: Words, reply: Any) -> Told:
    """BLMOVE: LMOVE."""
    return () if reply is None else ((b"LMOVE", *request[1:5]),)


def of_brpoplpush(txn: Txn, request: Words, reply: Any) -> Told:
    """BRPOPLPUSH: RPOPLPUSH."""
    return () if reply is None else ((b"RPOPLPUSH", *request[1:3]),)


def of_lmpop(txn: Txn, request: Words, reply: Any) -> Told:
    """LMPOP and BLMPOP: LPOP or RPOP of so many."""
    name = b"LPOP" if _has_word(request, b"LEFT") else b"RPOP"
    return _counted_pop(name, reply)


def of_bzpopmin(txn: Txn, request: Words, reply: Any) -> Told:
    """BZPOPMIN: ZPOPMIN of the key that had something."""
    return _pop(b"ZPOPMIN", reply)


def of_bzpopmax(txn: Txn, request: Words, reply: Any) -> Told:
    """BZPOPMAX: ZPOPMAX, as above."""
    return _pop(b"ZPOPMAX", reply)


def of_zmpop(txn: Txn, request: Words, reply: Any) -> Told:
    """ZMPOP and BZMPOP: ZPOPMIN or ZPOPMAX of so many."""
    name = b"ZPOPMIN" if _has_word(request, b"MIN") else b"ZPOPMAX"
    return _counted_pop(name, reply)


def _pop(name: bytes, reply: Any) -> Told:
    return ((name, reply[0]),) if isinstance(reply, list | tuple) else ()


def _counted_pop(name: bytes, reply: Any) -> Told:
    if not isinstance(reply, list | tuple):
        return ()
    key, found = reply
    count = found.length if isinstance(found, Stream) else len(found)
    return ((name, key, b"%d" % count),)


def _has_word(request: Words, word: bytes) -> bool:
    """Whether the option of a pop is there, behind the keys: COUNT may follow it."""
    return any(found.upper() == word for found in (request[-1], request[-3]))


# streams


def of_xadd(txn: Txn, request: Words, reply: Any) -> Told:
    """XADD: with its id; what was trimmed is told as the length that is left."""
    if reply is None:
        return ()
    at, is_trimmed = 2, False
    while True:
        word = request[at].upper()
        if word == b"NOMKSTREAM":
            at += 1
        elif word in (b"MAXLEN", b"MINID"):
            is_trimmed = True
            at += 3 if request[at + 1] in (b"=", b"~") else 2
        elif word == b"LIMIT":
            at += 2
        else:
            break
    trim = (b"MAXLEN", b"=", _length(txn, request[1])) if is_trimmed else ()
    return ((b"XADD", request[1], *trim, reply, *request[at + 1 :]),)


def of_xtrim(txn: Txn, request: Words, reply: Any) -> Told:
    """XTRIM: to the length that is left."""
    return ((b"XTRIM", request[1], b"MAXLEN", b"=", _length(txn, request[1])),)


def _length(txn: Txn, key: bytes) -> bytes:
    return b"%d" % streams.length(txn, key)


def of_xreadgroup(txn: Txn, request: Words, reply: Any) -> Told:
    """XREADGROUP: what is pending now, by XCLAIM, and how far the group has read."""
    name, consumer = request[2], request[3]
    ids = {key: list(_ids_of(found)) for key, found in (reply if isinstance(reply, list) else ())}
    for key in dict.fromkeys(stream_keys(4, request)):
        place = stream_groups.find(txn, key, name)
        if place is None:
            continue
        group = place[1]
        if group.find_consumer(consumer) is not None:
            yield (b"XGROUP", b"CREATECONSUMER", key, name, consumer)
        yield from _claims(group, key, name, ids.get(key, []))
        yield _group_id(group, key, name)


def of_xclaim(txn: Txn, request: Words, reply: Any) -> Told:
    """XCLAIM: each entry that changed hands, and those that are no longer pending."""
    ids: list[int] = []
    for text in request[5:]:
        number = find_id(text)
        if number is None:
            break
        ids.append(number)
    return _claimed(txn, request, ids)


def of_xautoclaim(txn: Txn, request: Words, reply: Any) -> Told:
    """XAUTOCLAIM: as XCLAIM."""
    return _claimed(txn, request, [*_ids_of(reply[1]), *_ids_of(reply[2])])


def _claimed(txn: Txn, request: Words, ids: list[int]) -> Iterator[Words]:
    key, name = request[1], request[2]
    place = stream_groups.find(txn, key, name)
    if place is None:
        return
    yield from _claims(place[1], key, name, ids)
    yield _group_id(place[1], key, name)


def _claims(group: Group, key: bytes, name: bytes, ids: list[int]) -> Iterator[Words]:
    """Make the pending entries of these ids the same elsewhere."""
    for number in ids:
        found = group.find_pending(number)
        text = streams.format_id(number)
        if found is None:
            yield (b"XACK", key, name, text)
            continue
        delivered, deliveries = b"%d" % found.delivered_ms, b"%d" % found.deliveries
        how = (b"TIME", delivered, b"RETRYCOUNT", deliveries, b"FORCE", b"JUSTID")
        last = streams.format_id(group.last)
        yield (b"XCLAIM", key, name, found.consumer, b"0", text, *how, b"LASTID", last)


def _group_id(group: Group, key: bytes, name: bytes) -> Words:
    last = streams.format_id(group.last)
    return (b"XGROUP", b"SETID", key, name, last, b"ENTRIESREAD", b"%d" % group.read)


def _ids_of(found: Any) -> Iterator[int]:
    """The ids of entries as replies show them."""
    entries = found.items if isinstance(found, Stream) else found
    for entry in entries:
        text = entry if isinstance(entry, bytes) else entry[0]
        number = find_id(text)
        if number is not None:
            yield number
