"""Where StrataKV differs from Redis on purpose: one line each, printed on the docs page."""

from typing import Final

DIFFERENCES: Final = (
    (
        "client-output-buffer-limit",
        "the default for normal clients is 256 MB, not unlimited: a client that does not read its"
        " replies is cut before it takes the memory of all. What its socket takes at once does not"
        " count, and large values and long replies are made as it reads",
    ),
    (
        "client-query-buffer-limit",
        "the arguments of an unfinished request and what MULTI has queued count as well. Behind a"
        " blocked command a client is read for another megabyte, not up to the limit",
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
        "ZADD",
        "a score of -0 is 0; Redis shows -0 in sorted sets that it keeps in their large form",
    ),
    (
        "FLUSHALL, FLUSHDB, SWAPDB within MULTI or a script",
        "what was written before is a commit of its own: other clients may read, and a crash may"
        " leave, the state between the two parts",
    ),
    (
        "CLIENT LIST",
        "buffers that do not exist here are 0",
    ),
    (
        "CLIENT TRACKING",
        "SWAPDB, and a commit that the store refuses, tell that all keys have changed, and PFCOUNT"
        " tells nothing. Null is told in the protocol of who is told. Of keys that expire is told"
        " when they are reclaimed, within milliseconds. When nobody tracks any more, what was read"
        " is forgotten; `tracking-table-max-keys` bounds it before",
    ),
    (
        "PUBLISH and keyspace notifications",
        "what a transaction or a script publishes is sent when it has ended, so that a RESP3 client"
        " never finds its own messages within the reply of EXEC. SORT tells no key misses of BY and"
        " GET patterns, and an event of a key that expired comes when the key is reclaimed or"
        " replaced, within milliseconds, not when it is read. A command that fails, or has to wait,"
        " tells no key misses",
    ),
    (
        "CONFIG",
        "appendonly and appendfsync are names for the durability (`no` is os), loglevel for"
        " log-level; the limits of compact forms show in OBJECT ENCODING. Names that tune what does"
        " not exist here (hz, repl-diskless-..., active-defrag-...) may be set to"
        " what they are and are refused otherwise, with the reason. CONFIG REWRITE writes what was"
        " changed into the file, a TOML or a redis.conf, and leaves the rest as it is. Our own"
        " options are there as well",
    ),
    (
        "save",
        "no save points unless some are set: data is on disk without them. A dump of a save point"
        " is written beside everything else, and FLUSHALL writes none; if it fails, writes go on,"
        " since the store has them",
    ),
    (
        "COMMAND DOCS",
        "summaries are our own and histories are left out; arguments follow the syntax lines of"
        " this page",
    ),
    (
        "DEBUG",
        "the subcommands that test suites need; RELOAD drops what is cached in memory. Our own"
        " SLEEP-ALONE lets only its own client wait",
    ),
    (
        "INFO",
        "used_memory is the process's own (anonymous) memory, used_memory_mapped the resident pages"
        " of mapped files, which the system takes back when it needs them; used_memory_dataset is"
        " what is cached of the keys; avg_ttl is a sample of those in"
        " memory; rdb_changes_since_last_save counts writing commands, not what they change;"
        " sections Store, Cache and GC are our own; latencies are known to a power of two;"
        " of a reader of several keys, keyspace_hits counts one unless it is MGET, EXISTS or TOUCH",
    ),
    (
        "OBJECT IDLETIME, OBJECT FREQ",
        "the idle time is kept with what is cached of a key, not on disk: of a key that is not"
        " cached it is a lower bound, since the last use of any key that left the cache, at most"
        " since the start; a large write of any key of the database is a use of those that are not"
        " cached. With an LFU policy a command uses each key that it names once, whatever else it"
        " does; a key that is met for the first time begins with 5, as a new one does",
    ),
    (
        "maxmemory, CLIENT NO-EVICT, CLIENT NO-TOUCH",
        "data is on disk: beyond maxmemory copies leave the memory, whatever the policy is, and no"
        " key goes and no command is refused for it (evicted_keys stays 0); maxdisk-bytes refuses"
        " writes as maxmemory with noeviction does. maxmemory-clients cuts the largest clients as"
        " in Redis; what a client takes is estimated, and no buffer is kept for one that sends"
        " nothing. After NO-TOUCH ON what a client reads is no use of its keys, except what it"
        " waited for, or reached by a script that was not given the key",
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
    (
        "LATENCY, MEMORY",
        "the doctors and the graph have their own words and drawing; there is no event"
        " `expire-cycle`, since a key of any size expires at once",
    ),
    ("MEMORY USAGE", "the bytes of the key's rows in the store, before compression"),
    (
        "SAVE, BGSAVE, BGREWRITEAOF",
        "whatever was acknowledged is stored already, and a start reads no dump. SAVE and BGSAVE"
        " write one for others, dbfilename in dir, in slices while clients are served; SAVE also"
        " puts the store itself on stable storage. BGREWRITEAOF is refused, as there is no append"
        " only file",
    ),
    (
        "MIGRATE",
        "a target that refuses AUTH or SELECT is sent no key. The replies are the same; Redis sends"
        " them all at once, so that the key may be restored in database 0. Each MIGRATE opens a"
        " connection of its own, which Redis keeps for ten seconds (INFO migrate_cached_sockets)",
    ),
    ("LOLWUT", "draws strata instead of Redis's art"),
    (
        "Scripts",
        "a script that takes longer than a few milliseconds begins anew in slices while other"
        " clients are served. Writers of its KEYS wait until it ends, and all writers if it has"
        " named none or uses others; only they hear BUSY after busy-reply-threshold, readers never."
        " A Lua state has `script-memory-limit`; tail calls take a frame; redis.log writes one line"
        " of 16 KB at most; there is no debugger. redis.set_repl keeps writes from"
        " replicas, never from the store",
    ),
    (
        "FUNCTION",
        "libraries and functions are listed in the order in which they were loaded; a library's own"
        " variables are per Lua state, of which there are several while long functions run",
    ),
    (
        "ACL",
        "users in the configuration are the list `user` of our file. ACL LIST, GETUSER and SAVE may"
        " choose other categories to tell the same rights, since there are commands of later"
        " versions and our own. ACL LOG keeps 1 KB of a key's name. After `acl-max-failures` wrong"
        " passwords in a minute, if that is set, an address hears WRONGPASS and how long to wait",
    ),
    (
        "CLUSTER",
        "without `cluster-enabled` the answers are those of a Redis without one, but CLUSTER"
        " KEYSLOT answers all the same. With it, slots are shared out by the nodes themselves, in"
        " groups: what would change that by hand is refused, there are no replicas, and nodes"
        " speak to each other at the port for clients. A request for a slot that is just handed"
        " over waits instead of hearing ASK or TRYAGAIN. A script that may use keys of several"
        " slots may use those of one group. CLUSTER COUNTKEYSINSLOT and GETKEYSINSLOT look at all"
        " keys of a group. FUNCTION LOAD, DELETE, FLUSH and RESTORE, SCRIPT LOAD and FLUSH hold for"
        " all nodes, whichever is told",
    ),
    (
        "Replication",
        "a replica keeps its place in the stream with its data, and goes on there after any end. A"
        " restarted master has another master_replid, with the old one as second. A transaction"
        " tells replicas of its writers that changed nothing too. XREADGROUP of entries that are"
        " pending is told as well, with the consumer that it made and how far the group has read,"
        " and SORT with BY as what it stored. WAIT waits for all that was written before it, by"
        " whomever. INFO has master_link_error",
    ),
    (
        "redis.conf",
        "what has no effect here is named at the start; modules, cluster-enabled and"
        " tls-ciphersuites are refused with the reason. The store is in `dir/stratakv`; a dump"
        " in `dir` is loaded at the first start",
    ),
    ("MODULE", "there are no modules: the list is empty, and nothing can be loaded"),
    (
        "Later than 7.0",
        "what clients of newer versions use is there: WITHSCORE of ZRANK and ZREVRANK, CLIENT"
        " SETINFO (CLIENT LIST shows lib-name and lib-ver), CLIENT NO-TOUCH and WAITAOF of 7.2, the"
        " expire-times of hash fields of 7.4, HGETEX, HSETEX and HGETDEL of 8.0. All other replies"
        " keep the form of 7.0",
    ),
    (
        "WAITAOF",
        "local storage is always to be had: unless durability is `always`, the store is synced when"
        " a client waits for it",
    ),
)
"""(what, how it differs)"""
