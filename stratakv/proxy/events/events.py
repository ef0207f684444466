"""The events of keyspace notifications: which command tells what, in Redis's names and order."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from stratakv.encodings.layout import metas
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.types.hashes import field_times
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.zsets import zsets
from stratakv.errors import CommandError
from stratakv.proxy.arguments.expiry import EXPIRE_OPTIONS
from stratakv.proxy.events.event_calls import DISCREET, Call, Rule
from stratakv.proxy.table.registry import TABLE, Command

# commands with one event

_ALWAYS: Final = """
append $ append, incr $ incrby, decr $ incrby, incrby $ incrby, decrby $ incrby,
incrbyfloat $ incrbyfloat, getset $ set, pfmerge $ pfadd,
lpush l lpush, rpush l rpush, lset l lset,
hset h hset, hmset h hset, hincrby h hincrby, hincrbyfloat h hincrbyfloat,
xsetid t xsetid, xgroup|create t xgroup-create, xgroup|setid t xgroup-setid
"""
_IF_DONE: Final = """
setnx $ set, pfadd $ pfadd, persist g persist,
lpushx l lpush, rpushx l rpush, lpop l lpop, rpop l rpop, lrem l lrem,
sadd s sadd, srem s srem, spop s spop, hsetnx h hset, hdel h hdel,
zrem z zrem, zpopmin z zpopmin, zpopmax z zpopmax, zremrangebyrank z zremrangebyrank,
zremrangebyscore z zremrangebyscore, zremrangebylex z zremrangebylex,
xdel t xdel, xtrim t xtrim, xgroup|destroy t xgroup-destroy,
xgroup|createconsumer t xgroup-createconsumer
"""
_IF_STORED: Final = """
bitop $ set, sinterstore s sinterstore, sunionstore s sunionstore, sdiffstore s sdiffstore,
zunionstore z zunionstore, zinterstore z zinterstore, zdiffstore z zdiffstore,
zrangestore z zrangestore, geosearchstore z geosearchstore,
expire g expire, pexpire g expire, expireat g expire, pexpireat g expire
"""
_BLOCKING: Final = """
blpop l lpop, brpop l rpop, bzpopmin z zpopmin, bzpopmax z zpopmax
"""


def _always(kind: str, event: str, call: Call) -> None:
    call.tell(kind, event, call.keys[0])


def _if_done(kind: str, event: str, call: Call) -> None:
    if call.has_result:
        call.tell(kind, event, call.keys[0])


def _if_stored(kind: str, event: str, call: Call) -> None:
    """The first key is there afterwards; else the command has deleted it, or done nothing."""
    if call.reply and call.txn.find(call.keys[0]) is not None:
        call.tell(kind, event, call.keys[0])


def _named_in_reply(kind: str, event: str, call: Call) -> None:
    if call.has_result:
        call.tell(kind, event, call.reply[0])


def _each(kind: str, event: str, call: Call) -> None:
    if call.has_result:
        for key in call.keys:
            call.tell(kind, event, key)


# commands with rules of their own


def _set(call: Call) -> None:
    """SET does nothing if its condition does not hold, and the meta is then the same object."""
    key = call.keys[0]
    new = call.txn.find(key)
    if new is None or new is call.before[key]:
        return
    call.tell("$", "set", key)
    if not EXPIRE_OPTIONS.isdisjoint(call.words(2)):
        call.tell("g", "expire", key)


def _setex(call: Call) -> None:
    call.tell("$", "set", call.keys[0])
    call.tell("g", "expire", call.keys[0])


def _getex(call: Call) -> None:
    key = call.keys[0]
    old, new = call.before[key], call.txn.find(key)
    if old is None or new is None or not call.words(1):
        return
    if not EXPIRE_OPTIONS.isdisjoint(call.words(1)):
        call.tell("g", "expire", key)
    elif old.expire_ms != NO_EXPIRY:
        call.tell("g", "persist", key)


def _setrange(call: Call) -> None:
    if call.arguments[2]:
        call.tell("$", "setrange", call.keys[0])


def _setbit(call: Call) -> None:
    """Bits that are set to what they are do not count, nor does a BITFIELD that only fails."""
    key = call.keys[0]
    old, new = call.before[key], call.txn.find(key)
    if isinstance(call.reply, list) and all(one is None for one in call.reply):
        if old is None and new is not None:
            call.tell_new(key)
    elif new is not None and (old is None or old.extra != new.extra):
        call.tell("$", "setbit", key)


def _rename(call: Call) -> None:
    old, new = call.keys[0], call.keys[1]
    if not call.reply or old == new:
        return
    call.tell_new(new)
    call.tell("g", "rename_from", old)
    call.tell("g", "rename_to", new)


def _copy(call: Call) -> None:
    words = call.words(2)
    if not call.reply:
        return
    there = call.txn
    if b"DB" in words:
        there = there.sibling(int(words[words.index(b"DB") + 1]))
    call.tell_new(call.keys[1], there)
    call.tell_in(there, "g", "copy_to", call.keys[1])


def _move(call: Call) -> None:
    if not call.reply:
        return
    key, there = call.keys[0], call.txn.sibling(int(call.arguments[1]))
    call.tell_new(key, there)
    call.tell("g", "move_from", key)
    call.tell_in(there, "g", "move_to", key)


def _restore(call: Call) -> None:
    """A key whose time was over from the start is not even made."""
    if call.txn.find(call.keys[0]) is not None:
        call.tell_new(call.keys[0])
        call.tell("g", "restore", call.keys[0])


def _sort(call: Call) -> None:
    """The last STORE counts."""
    words = call.words(1)
    if b"STORE" not in words:
        return
    target = call.arguments[len(call.arguments) - words[::-1].index(b"STORE")]
    if call.reply:
        call.tell("l", "sortstore", target)


def _ltrim(call: Call) -> None:
    if call.before[call.keys[0]] is not None:
        call.tell("l", "ltrim", call.keys[0])


def _linsert(call: Call) -> None:
    if call.reply > 0:
        call.tell("l", "linsert", call.keys[0])


_POPS: Final = {b"LEFT": "lpop", b"RIGHT": "rpop", b"MIN": "zpopmin", b"MAX": "zpopmax"}
_PUSHES: Final = {b"LEFT": "lpush", b"RIGHT": "rpush"}


def _lmove(call: Call) -> None:
    """LMOVE and its like: the push is told before the pop."""
    words = call.words(2)
    source, target = (words[0], words[1]) if "lmove" in call.name else (b"RIGHT", b"LEFT")
    if call.has_result:
        call.tell("l", _PUSHES[target], call.keys[1])
        call.tell("l", _POPS[source], call.keys[0])


def _mpop(kind: str, call: Call) -> None:
    """LMPOP, ZMPOP: behind the keys stands the side."""
    if call.has_result:
        at = len(call.keys) + (2 if call.name.startswith("b") else 1)
        call.tell(kind, _POPS[call.words(at)[0]], call.reply[0])


def _smove(call: Call) -> None:
    source, target = call.keys[0], call.keys[1]
    if not call.reply or source == target:
        return
    call.tell("s", "srem", source)
    call.tell_if_gone(source)
    if not call.notes:
        call.tell("s", "sadd", target)


def _was_member(call: Call) -> bool:
    """Whether SMOVE's target had the member already."""
    target, member = call.arguments[1:3]
    meta = call.before.get(target)
    return meta is not None and meta.type == metas.SET and sets.contains(call.txn, target, member)


def _hexpire(call: Call) -> None:
    """The reply has a number for each field: 1 for a time that was set, 2 for a deleted field."""
    if 2 in call.reply:
        call.tell("h", "hdel", call.keys[0])
    if 1 in call.reply:
        call.tell("h", "hpersist" if call.name == "hpersist" else "hexpire", call.keys[0])


def _hgetdel(call: Call) -> None:
    if any(value is not None for value in call.reply):
        call.tell("h", "hdel", call.keys[0])


def _hgetex(call: Call) -> None:
    """The reply has the values; what became of their times is told by the fields."""
    option = call.words(1)[0]
    if option == b"PERSIST":
        if any(at_ms >= 0 for at_ms in call.notes):
            call.tell("h", "hpersist", call.keys[0])
    elif option in EXPIRE_OPTIONS and any(value is not None for value in call.reply):
        call.tell("h", _expired_or_gone(call), call.keys[0])


def _hsetex(call: Call) -> None:
    """A time in the past deletes the fields again, and a hash that was made for them."""
    key = call.keys[0]
    if not call.reply:
        return
    vanished = call.before[key] is None and call.txn.find(key) is None
    if vanished:
        call.tell_new(key)
    call.tell("h", "hset", key)
    if not EXPIRE_OPTIONS.isdisjoint(call.words(1)[: _fields_at(call)]):
        call.tell("h", _expired_or_gone(call), key)
    if vanished:
        call.tell("g", "del", key)


def _fields_at(call: Call) -> int:
    """Where FIELDS stands behind the key; no option takes it for its value."""
    return call.words(1).index(b"FIELDS")


def _field_times(call: Call) -> list[int]:
    """The times of the fields that HGETEX or HSETEX name."""
    words = call.words(1)
    meta = call.txn.find(call.keys[0]) if call.keys else None
    if meta is None or meta.type != metas.HASH or b"FIELDS" not in words:
        return []
    step = 2 if call.name == "hsetex" else 1
    named = call.arguments[words.index(b"FIELDS") + 3 :: step]
    return field_times.times(call.txn, call.keys[0], named)


def _expired_or_gone(call: Call) -> str:
    """The fields have a time now, unless it had passed and they are deleted."""
    return "hexpire" if any(at_ms >= 0 for at_ms in _field_times(call)) else "hdel"


def _zadd(call: Call) -> None:
    """Only a score that has changed counts, which the reply does not tell."""
    if call.notes != _scores(call):
        event = "zincr" if call.name == "zincrby" or b"INCR" in call.words(1) else "zadd"
        call.tell("z", event, call.keys[0])


def _scores(call: Call) -> list[float | None]:
    """The scores of all that could be members among the arguments."""
    key = call.keys[0]
    meta = call.txn.find(key)
    if meta is None or meta.type != metas.ZSET:
        return [None] * len(call.arguments[1:])
    return zsets.scores(call.txn, key, call.arguments[1:])


def _georadius(call: Call) -> None:
    words = call.words(1)
    stores = [at for at, word in enumerate(words) if word in (b"STORE", b"STOREDIST")]
    if stores and call.reply:
        call.tell("z", "georadiusstore", call.arguments[stores[-1] + 2])


def _xadd(call: Call) -> None:
    key = call.keys[0]
    if call.has_result:
        call.tell("t", "xadd", key)
        if call.notes != _length(call) - 1:
            call.tell("t", "xtrim", key)


def _length(call: Call) -> int:
    """The entries of a stream."""
    meta = call.txn.find(call.keys[0])
    if meta is None or metas.NAMES.get(meta.type) != b"stream":
        return 0
    return int(TABLE[b"xlen"].handler(call.txn, call.keys[0]))


def _consumers(call: Call) -> dict[bytes, set[bytes]]:
    """The consumers that a group has in each stream that the command names."""
    names = TABLE[b"xinfo"].subcommands[b"consumers"].handler
    found: dict[bytes, set[bytes]] = {}
    for key in call.keys:
        try:
            lines = names(call.txn, b"consumers", key, _group(call))
            found[key] = {line[b"name"] for line in lines}
        except CommandError:  # there is no such stream, or group
            found[key] = set()
    return found


def _group(call: Call) -> bytes:
    if call.name == "xreadgroup":
        return call.arguments[call.words(0).index(b"GROUP") + 1]
    return call.arguments[2 if call.name.startswith("xgroup") else 1]


def _met_consumer(call: Call) -> None:
    """A consumer is made when a command names it for the first time."""
    for key, names in _consumers(call).items():
        if names - call.notes[key]:
            call.tell("t", "xgroup-createconsumer", key)


def _delconsumer(call: Call) -> None:
    if call.notes != _consumers(call):
        call.tell("t", "xgroup-delconsumer", call.keys[0])


def _nothing(call: Call) -> None:
    """Only what is told of every command: keys that it deleted or missed."""


_OWN_RULES: Final[dict[str, Rule]] = {
    "set": _set,
    "setex": _setex,
    "psetex": _setex,
    "getex": _getex,
    "setrange": _setrange,
    "setbit": _setbit,
    "bitfield": _setbit,
    "mset": partial(_each, "$", "set"),
    "msetnx": partial(_each, "$", "set"),
    "rename": _rename,
    "renamenx": _rename,
    "copy": _copy,
    "move": _move,
    "restore": _restore,
    "sort": _sort,
    "ltrim": _ltrim,
    "linsert": _linsert,
    "lmove": _lmove,
    "blmove": _lmove,
    "rpoplpush": _lmove,
    "brpoplpush": _lmove,
    "lmpop": partial(_mpop, "l"),
    "blmpop": partial(_mpop, "l"),
    "zmpop": partial(_mpop, "z"),
    "bzmpop": partial(_mpop, "z"),
    "smove": _smove,
    **dict.fromkeys(("hexpire", "hpexpire", "hexpireat", "hpexpireat", "hpersist"), _hexpire),
    "hgetdel": _hgetdel,
    "hgetex": _hgetex,
    "hsetex": _hsetex,
    "zadd": _zadd,
    "zincrby": _zadd,
    "geoadd": _zadd,
    "georadius": _georadius,
    "georadiusbymember": _georadius,
    "xadd": _xadd,
    **dict.fromkeys(("xreadgroup", "xclaim", "xautoclaim"), _met_consumer),
    "xgroup|delconsumer": _delconsumer,
}
PREPARED: Final[dict[str, Callable[[Call], Any]]] = {
    "smove": _was_member,
    "hgetex": _field_times,
    **dict.fromkeys(("zadd", "zincrby", "geoadd"), _scores),
    "xadd": _length,
    **dict.fromkeys(("xreadgroup", "xclaim", "xautoclaim", "xgroup|delconsumer"), _consumers),
}
"""What a rule has to know of the time before its command."""


def _parse(table: str, rule: Callable[[str, str, Call], None]) -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for line in table.replace("\n", " ").split(","):
        name, kind, event = line.split()
        found[name] = partial(rule, kind, event)
    return found


_RULES: Final[dict[str, Rule]] = {
    **_parse(_ALWAYS, _always),
    **_parse(_IF_DONE, _if_done),
    **_parse(_IF_STORED, _if_stored),
    **_parse(_BLOCKING, _named_in_reply),
    **dict.fromkeys(("del", "unlink", "getdel", "xack"), _nothing),
    **_OWN_RULES,
}


def rule_of(entry: Command) -> Rule | None:
    """What a command tells; None if it never tells anything."""
    if entry.name in _RULES:
        return _RULES[entry.name]
    if "readonly" in entry.flags and entry.touches_keys and entry.words[0] not in DISCREET:
        return _nothing
    return None
