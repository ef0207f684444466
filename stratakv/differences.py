"""Where StrataKV differs from Redis on purpose: one line each, printed on the docs page."""

from typing import Final

DIFFERENCES: Final = (
    (
        "client-output-buffer-limit",
        "the default for normal clients is 256 MB, not unlimited: a client that does not read its"
        " replies is cut before it takes the memory of all",
    ),
    (
        "Long commands",
        "a command on very many elements works in slices on a snapshot while other clients are"
        " served; writers of its keys wait until it ends",
    ),
    (
        "Order",
        "replies whose order Redis leaves open (SMEMBERS, HGETALL, KEYS, SCAN) come in the byte"
        " order of members, or of the hashes of keys",
    ),
    (
        "HSCAN, SSCAN, ZSCAN",
        "their cursors do not survive a restart: an iteration then starts over and may return"
        " elements again, never omit one. SCAN's own cursors survive",
    ),
    (
        "hash-encoding and set-encoding 1 and 3",
        "HSET, HDEL, SADD and SREM answer with the number of arguments, because they write without"
        " reading; never the default",
    ),
    (
        "zset-encoding 2 and 3",
        "among equal scores, members of 15 bytes and more come after shorter ones, in the order of"
        " their hashes; never the default",
    ),
    (
        "CLIENT LIST",
        "buffers that do not exist here are 0",
    ),
    ("CLIENT TRACKING", "client-side caching cannot be turned on"),
    (
        "PUBLISH and keyspace notifications",
        "what a transaction or a script publishes is sent when it has ended, so that a RESP3 client"
        " never finds its own messages within the reply of EXEC. SORT tells no key misses of BY and"
        " GET patterns, and an event of a key that expired comes when the key is reclaimed or"
        " replaced, within milliseconds, not when it is read",
    ),
    (
        "CONFIG",
        "names of Redis that tune what does not exist here are accepted and kept without an"
        " effect (maxmemory, save, appendonly, ...). CONFIG REWRITE answers as a Redis without a"
        " configuration file. Our own options are there as well",
    ),
    (
        "COMMAND DOCS",
        "summaries are our own and histories are left out; arguments follow the syntax lines of"
        " this page",
    ),
    (
        "DEBUG",
        "a few subcommands that test suites need; SLEEP lets only its own client wait, RELOAD drops"
        " what is cached in memory",
    ),
    (
        "INFO",
        "used_memory is the resident size of the process; sections Store, Cache and GC are our own;"
        " latencies are known to a power of two; of a reader of several keys, keyspace_hits counts"
        " one unless it is MGET, EXISTS or TOUCH",
    ),
    (
        "OBJECT IDLETIME, OBJECT FREQ",
        "nobody notes when a key was last read: the idle time is 0, and RESTORE's IDLETIME and FREQ"
        " have no effect",
    ),
    (
        "Expired keys",
        "they are reclaimed by the clock alone: with DEBUG SET-ACTIVE-EXPIRE 0 DBSIZE counts them"
        " until it is turned on again, and CLIENT PAUSE does not keep them",
    ),
    (
        "Expired fields of hashes",
        "they are deleted by the clock and by writers of the hash. A reader leaves them out but"
        " deletes nothing: HLEN counts them until they are gone, as in Redis, and `hexpired` comes"
        " when they are deleted",
    ),
    ("LATENCY, MEMORY", "the doctors and the graph have their own words and drawing"),
    ("MEMORY USAGE", "the bytes of the key's rows in the store, before compression"),
    (
        "SAVE, BGSAVE, BGREWRITEAOF",
        "whatever was acknowledged is stored already; they put it on stable storage",
    ),
    ("LOLWUT", "draws strata instead of Redis's art"),
    (
        "Scripts",
        "a script that takes longer than a few milliseconds begins anew in slices while other"
        " clients are served, instead of BUSY for all; writers of its KEYS wait until it ends, and"
        " all writers if it has named none. Keys that it writes without naming them are not locked."
        " A Lua state has `script-memory-limit`; tail calls take a frame; there is no debugger",
    ),
    (
        "FUNCTION",
        "libraries and functions are listed in the order in which they were loaded; a library's own"
        " variables are per Lua state, of which there are several while long functions run",
    ),
    ("ACL", "there is one user, `default`, whose password is the option requirepass"),
    ("CLUSTER, replication", "there is none: the answers are those of a lone Redis master"),
)
"""(what, how it differs)"""
