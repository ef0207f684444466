"""What Redis says of its commands beyond what their syntax lines tell: ACL categories, key
specifications and tips, as data for COMMAND.

A line names its commands once. Whatever follows from a command's flags (@write, @fast, @admin) is
derived, not listed.
"""

from typing import Final, NamedTuple

from stratakv.proxy.table.registry import Command

_FLAGS = """
    write readonly denyoom admin pubsub noscript blocking loading stale skip_monitor skip_slowlog
    asking fast no_auth may_replicate no_mandatory_keys no_async_loading no_multi movablekeys
    allow_busy"""
_CATEGORIES = """
    keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin
    fast slow blocking dangerous connection transaction scripting"""

FLAG_ORDER: Final = _FLAGS.split()
CATEGORIES: Final = _CATEGORIES.split()
"""Redis's ACL categories in the order in which it lists them."""

_MEMBERS: Final = {
    "connection": """
        ping echo auth hello select quit reset client|* command command|* wait waitaof readonly
        readwrite asking""",
    "dangerous": "info flushdb flushall swapdb role lastsave keys sort sort_ro restore",
    "admin": "role lastsave",
    "stream": """
        xadd xlen xrange xrevrange xread xdel xtrim xsetid xinfo|* xgroup|* xreadgroup xack
        xpending xclaim xautoclaim""",
    "keyspace": """
        dbsize flushdb flushall swapdb del unlink exists type touch expire pexpire expireat
        pexpireat ttl pttl expiretime pexpiretime persist rename renamenx copy move keys scan
        randomkey object|* dump restore""",
    "set": """
        sort sort_ro sadd srem scard smembers sismember smismember spop srandmember smove sinter
        sintercard sinterstore sunion sunionstore sdiff sdiffstore sscan""",
    "sortedset": """
        sort sort_ro zadd zincrby zcard zscore zmscore zrank zrevrank zcount zlexcount zrange
        zrangestore zrevrange zrangebyscore zrevrangebyscore zrangebylex zrevrangebylex zrem
        zremrangebyrank zremrangebyscore zremrangebylex zpopmin zpopmax zmpop zrandmember zunion
        zinter zdiff zunionstore zinterstore zdiffstore zintercard zscan bzpopmin bzpopmax
        bzmpop""",
    "list": """
        sort sort_ro lpush rpush lpushx rpushx lpop rpop llen lindex lset linsert lrange lrem ltrim
        lpos lmove lmpop rpoplpush blpop brpop blmove blmpop brpoplpush""",
    "hash": """
        hset hmset hsetnx hget hmget hgetall hkeys hvals hlen hexists hdel hstrlen hincrby
        hincrbyfloat hscan hrandfield hexpire hpexpire hexpireat hpexpireat httl hpttl hexpiretime
        hpexpiretime hpersist hgetex hsetex hgetdel""",
    "string": """
        set get getset getdel getex setex psetex setnx mset msetnx mget append strlen incr decr
        incrby decrby incrbyfloat getrange substr setrange lcs""",
    "scripting": """
        eval eval_ro evalsha evalsha_ro fcall fcall_ro script|* function|*""",
    "transaction": "multi exec discard watch unwatch",
    "geo": """
        geoadd geodist geohash geopos geosearch geosearchstore georadius georadius_ro
        georadiusbymember georadiusbymember_ro""",
    "hyperloglog": "pfadd pfcount pfmerge pfdebug pfselftest",
    "bitmap": "setbit getbit bitcount bitpos bitop bitfield bitfield_ro",
}

_TIPS: Final = {
    "request_policy:all_shards response_policy:all_succeeded": """
        ping flushdb flushall memory|purge function|flush function|delete function|restore
        function|load""",
    "request_policy:all_shards response_policy:agg_sum": "dbsize",
    "request_policy:all_shards response_policy:agg_min": "wait waitaof",
    "request_policy:all_shards nondeterministic_output_order": "keys",
    "request_policy:all_shards nondeterministic_output": "randomkey",
    "request_policy:all_nodes response_policy:all_succeeded": """
        config|set slowlog|reset latency|reset script|flush script|load client|setinfo""",
    "request_policy:all_shards response_policy:agg_logical_and": "script|exists",
    "request_policy:all_shards response_policy:one_succeeded": "script|kill function|kill",
    "request_policy:all_nodes response_policy:agg_sum nondeterministic_output": "slowlog|len",
    "request_policy:all_nodes nondeterministic_output": "slowlog|get",
    "request_policy:multi_shard response_policy:agg_sum": "del unlink exists touch",
    "request_policy:multi_shard response_policy:all_succeeded": "mset",
    "request_policy:multi_shard response_policy:agg_min": "msetnx",
    "request_policy:multi_shard": "mget",
    "nondeterministic_output request_policy:special": "scan",
    "nondeterministic_output request_policy:all_shards response_policy:special": """
        info memory|doctor memory|stats memory|malloc-stats function|stats""",
    "nondeterministic_output request_policy:all_nodes response_policy:special": """
        latency|latest latency|doctor latency|history latency|graph latency|histogram""",
    "nondeterministic_output": """
        client|list client|info time lastsave ttl pttl object|idletime object|encoding object|freq
        object|refcount hscan hrandfield spop srandmember sscan zrandmember zscan cluster|info
        cluster|nodes cluster|shards cluster|slots cluster|links cluster|bumpepoch
        cluster|count-failure-reports cluster|getkeysinslot cluster|replicas cluster|slaves dump
        xadd xautoclaim xclaim xinfo|consumers xpending xtrim httl hpttl""",
    "nondeterministic_output_order": """
        command command|info command|list command|docs hgetall hkeys hvals smembers sinter sunion
        sdiff function|list module|list""",
}

_KEY_FLAGS: Final = {
    "RO": """
        memory|usage object|idletime object|encoding object|freq object|refcount exists touch type
        strlen hlen hexists hstrlen scard sismember zcard llen watch xlen""",
    "RO access": """
        lindex lrange lpos
        ttl pttl expiretime pexpiretime get getrange substr getbit bitcount bitpos bitfield_ro hget
        hmget hgetall hkeys hvals hscan hrandfield smembers smismember srandmember sscan zscore
        zmscore zrank zrevrank zcount zlexcount zrange zrevrange zrangebyscore zrevrangebyscore
        zrangebylex zrevrangebylex zrandmember zscan mget sinter sunion sdiff lcs sintercard zunion
        zinter zdiff zintercard copy,1 sort,1 sort_ro,1 bitop,2 sinterstore,2 sunionstore,2
        sdiffstore,2 zrangestore,2 zunionstore,2 zinterstore,2 zdiffstore,2 pfmerge,2
        geosearchstore,2 georadius,1 georadiusbymember,1 xrange xrevrange xread xreadgroup xpending
        xinfo|stream xinfo|groups xinfo|consumers httl hpttl hexpiretime hpexpiretime""",
    "RM delete": "del unlink",
    "RW update": """
        expire pexpire expireat pexpireat persist setrange hset hmset zadd lset sinterstore,1
        geoadd xadd xsetid xack xclaim xgroup|setid hexpire hpexpire hexpireat hpexpireat
        hpersist hsetex""",
    "RW access update": """
        move getset getex hgetex incr decr incrby decrby incrbyfloat setbit hincrby hincrbyfloat
        zincrby eval evalsha fcall""",
    "RW access update variable_flags": "set bitfield",
    "RW access": "pfcount pfdebug",
    "RW access insert": "pfmerge,1",
    "RW access delete": """
        getdel hgetdel spop zpopmin zpopmax zmpop bzpopmin bzpopmax bzmpop lpop rpop lmpop blpop
        brpop blmpop rename,1 renamenx,1 smove,1 lmove,1 blmove,1 rpoplpush,1 brpoplpush,1""",
    "RW delete": """
        hdel srem zrem zremrangebyrank zremrangebyscore zremrangebylex lrem ltrim xdel xtrim
        xgroup|destroy xgroup|delconsumer xautoclaim""",
    "RW insert": """
        append hsetnx sadd lpush rpush lpushx rpushx linsert smove,2 lmove,2 blmove,2 rpoplpush,2
        brpoplpush,2 pfadd xgroup|create xgroup|createconsumer""",
    "OW update": """
        setex psetex mset rename,2 copy,2 bitop,1 sunionstore,1 sdiffstore,1 zrangestore,1
        zunionstore,1 zinterstore,1 zdiffstore,1 geosearchstore,1
        restore""",
    "OW insert": "setnx msetnx renamenx,2",
    "not_key": "spublish ssubscribe sunsubscribe",
}
"""What a command does with its keys; `name,2` is its second specification."""

_SECOND: Final = {
    "copy": (2, "range", 0),
    "rename": (2, "range", 0),
    "renamenx": (2, "range", 0),
    **dict.fromkeys(("smove", "lmove", "blmove", "rpoplpush", "brpoplpush"), (2, "range", 0)),
    "zrangestore": (2, "range", 0),
    "geosearchstore": (2, "range", 0),
    "bitop": (3, "range", -1),
    "pfmerge": (2, "range", -1),
    "sinterstore": (2, "range", -1),
    "sunionstore": (2, "range", -1),
    "sdiffstore": (2, "range", -1),
    "zunionstore": (2, "keynum", 0),
    "zinterstore": (2, "keynum", 0),
    "zdiffstore": (2, "keynum", 0),
}
"""Where the second specification begins, and how far it reaches."""

_KEYS_BY_CONTENT: Final = "BY and GET name keys after what the sorted key holds"
_NOTES: Final = {
    "set": "reads the key only with GET",
    "pfcount": "keeps its answer in the key",
    **dict.fromkeys(("getex", "hgetex"), "changes the time to live"),
    "bitfield": "reads, writes or both, as its operations say",
    "xadd": "may trim as well as add",
    **dict.fromkeys(("eval", "fcall"), "the script decides: reads and writes assumed"),
    **dict.fromkeys(("eval_ro", "fcall_ro"), "the script decides: reads assumed"),
}


_STREAMS_FROM: Final = {"xread": 1, "xreadgroup": 4}


class KeySpec(NamedTuple):
    """Where some of a command's keys stand: from `begin`, as a range or after their number."""

    flags: tuple[str, ...]
    begin: int
    find: str
    last: int = 0
    step: int = 1
    notes: str = ""
    keyword: str = ""
    """The word that the keys follow, looked for from `begin`, where they have no fixed place."""
    limit: int = 0


def _by_command(lines: dict[str, str]) -> dict[str, list[str]]:
    """The lists turned round: what is said of each command."""
    found: dict[str, list[str]] = {}
    for fact, names in lines.items():
        for name in names.split():
            found.setdefault(name, []).append(fact)
    return found


_CATEGORIES_OF: Final = _by_command(_MEMBERS)
_TIPS_OF: Final = _by_command(_TIPS)
_KEY_FLAGS_OF: Final = _by_command(_KEY_FLAGS)


def flags(entry: Command) -> list[str]:
    """Flags in Redis's order."""
    return [flag for flag in FLAG_ORDER if flag in entry.flags]


def categories(entry: Command) -> list[str]:
    """ACL categories in Redis's order, without the @."""
    found = set(_CATEGORIES_OF.get(entry.name, ()))
    found.update(_CATEGORIES_OF.get(entry.words[0] + "|*", ()) if len(entry.words) > 1 else ())
    implied = {"write": "write", "readonly": "read", "blocking": "blocking", "pubsub": "pubsub"}
    found.update(name for flag, name in implied.items() if flag in entry.flags)
    if "scripting" in found:
        found.discard("read")  # what a script does is known to itself alone
    if "admin" in entry.flags:
        found.update(("admin", "dangerous"))
    found.add("fast" if "fast" in entry.flags else "slow")
    return [name for name in CATEGORIES if name in found]


def tips(entry: Command) -> list[str]:
    """Hints for cluster clients."""
    return [tip for line in _TIPS_OF.get(entry.name, ()) for tip in line.split()]


def key_specs(entry: Command) -> list[KeySpec]:
    """Where the keys stand and what the command does with them."""
    if not entry.touches_keys:
        return []
    specs = [_first_spec(entry)]
    if entry.name in _SECOND:
        begin, find, last = _SECOND[entry.name]
        specs.append(KeySpec(_key_flags(entry, 2), begin, find, last))
    if entry.name in ("sort", "sort_ro"):
        specs.append(KeySpec(("RO", "access"), 0, "unknown", notes=_KEYS_BY_CONTENT))
    if entry.name in ("georadius", "georadiusbymember"):
        stores = ("STORE", "STOREDIST")
        start = 6 if entry.name == "georadius" else 5
        specs += [KeySpec(("OW", "update"), start, "range", keyword=word) for word in stores]
    if entry.name == "sort":
        specs.append(KeySpec(("OW", "update"), 0, "unknown", notes="STORE may stand anywhere"))
    return specs


def _first_spec(entry: Command) -> KeySpec:
    first, last, step = entry.keys
    own = _key_flags(entry, 1)
    notes = _NOTES.get(entry.name, "")
    if entry.name in _STREAMS_FROM:
        start = _STREAMS_FROM[entry.name]
        return KeySpec(own, start, "range", -1, keyword="STREAMS", limit=2)
    if first == 0:
        # a time-out or a script comes first
        begin = 2 if entry.flags & {"blocking", "no_mandatory_keys"} else 1
        return KeySpec(own, begin, "keynum", notes=notes)
    if entry.name in _SECOND:
        return KeySpec(own, first, "range", 0, step, notes)
    reach = last - first if last > 0 else last
    return KeySpec(own, first, "range", reach, step, notes)


def _key_flags(entry: Command, number: int) -> tuple[str, ...]:
    for name in (f"{entry.name},{number}", entry.name):
        if name in _KEY_FLAGS_OF:
            return tuple(_KEY_FLAGS_OF[name][0].split())
    return ("RW", "access", "update") if entry.is_write else ("RO", "access")
