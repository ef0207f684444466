"""Commands whose keyspace notifications are compared with those of redis-server, by group."""

STRINGS = """
SET s v
SET s v EX 100
SET s v KEEPTTL
SET s v NX
SET s w XX GET
SET none v XX
SET none v XX GET
SET fresh v GET
SET s v PX 100000 NX GET
SETNX s v
SETNX s2 v
SETEX s 100 v
PSETEX s3 100000 v
GETSET s w
GETSET s4 w
GETDEL s4
GETDEL s4
GETEX s
GETEX s EX 100
GETEX s PERSIST
GETEX s PERSIST
GETEX s PXAT 1
GETEX s
MSET a 1 b 2 a 3
MSETNX a 1 c 2
MSETNX c 1 d 2
APPEND a x
APPEND a ''
APPEND e x
INCR n
DECR n
INCRBY n 5
DECRBY n2 5
INCR a
INCRBYFLOAT n 1.5
SETRANGE a 3 zz
SETRANGE a 3 ''
SETRANGE new 3 ''
SETRANGE new 3 z
SETBIT bit 7 1
SETBIT bit 7 1
BITFIELD bit GET u8 0
BITFIELD bit SET u8 0 7
BITFIELD bit SET u8 0 7
BITFIELD bit OVERFLOW FAIL INCRBY u8 0 255
BITFIELD bit2 INCRBY u8 0 1
BITFIELD bit3 GET u8 0
BITFIELD_RO bit3 GET u8 0
BITOP AND dest bit bit2
BITOP AND dest nosuch1 nosuch2
BITOP NOT dest nosuch1
BITOP OR dest a nosuch
GET a
GET nosuch
GET bit
MGET a nosuch nosuch b
STRLEN nosuch
GETRANGE nosuch 0 1
SUBSTR nosuch 0 1
GETBIT nosuch 1
BITCOUNT nosuch
BITPOS nosuch 1
LCS a nosuch
LCS nosuch a
GETEX s4 EX 10
SET s v
GETEX s PXAT 99999999999000
GETEX s PXAT 99999999999000
SET s w KEEPTTL
SET s w NX GET
SET s w EX 10 XX
LPUSH list x
SET list v
LPUSH list2 x
GETDEL list2
MSET list2 v s v
BITOP NOT list2 a
BITOP AND a nosuch
BITOP AND a nosuch
APPEND s v
SETRANGE s 0 ''
SETRANGE s 100 x
INCRBYFLOAT f 0
INCR list
"""
KEYS = """
MSET a 1 b 2 c 3 d 4
DEL a nosuch b a
UNLINK c nosuch
EXISTS d nosuch d
TOUCH d nosuch
TYPE nosuch
TTL nosuch
PTTL nosuch
EXPIRETIME nosuch
PEXPIRETIME nosuch
TYPE d
EXPIRE d 100
EXPIRE d 50 GT
EXPIRE nosuch 100
PERSIST d
PERSIST d
PEXPIRE d 100000
EXPIREAT d 99999999999
PEXPIREAT d 99999999999000
EXPIRE d -1
SET d x
EXPIREAT d 1
SET d x
SET e y
RENAME d f
RENAME f e
RENAME e e
RENAME nosuch e
RENAMENX e g
SET h 1
RENAMENX g h
RENAMENX g g
COPY g h
COPY g h REPLACE
COPY g i
COPY g i DB 1
COPY nosuch j
MOVE g 1
MOVE h 1
MOVE h 1
MOVE nosuch 1
OBJECT ENCODING nosuch
OBJECT REFCOUNT nosuch
MEMORY USAGE nosuch
RANDOMKEY
KEYS *
SCAN 0
DBSIZE
RPUSH list 3 1 2
SORT list
SORT nosuch
SORT_RO nosuch
SORT list STORE sorted
SORT list STORE sorted
SORT nosuch STORE sorted
SORT nosuch STORE sorted
EXPIRE list 10 NX
EXPIRE list 5 NX
EXPIRE list 5 GT
PEXPIRE list -1 LT
PERSIST nosuch
EXPIRE nosuch -1
SADD set a
RENAME set sorted
ZADD z 1 a
RENAME z sorted
RENAMENX sorted z
RENAMENX nosuch z
COPY z z2
SET over x
COPY z over
COPY z over REPLACE
MOVE z2 0
EXISTS nosuch nosuch
SORT z2 BY nosort GET # STORE over
SORT z2 ALPHA STORE z2
SORT nosuch STORE nosuch2
WATCH nosuch
UNWATCH
PEXPIREAT z2 1
DEL over z
SELECT 1
SET in1 x
SELECT 0
SWAPDB 0 1
FLUSHDB
FLUSHALL
"""
LISTS = """
LPUSH l a b c
RPUSH l d
LPUSHX l e
RPUSHX l f
LPUSHX nosuch e
RPUSHX nosuch e
LPOP l
RPOP l
LPOP nosuch
LPOP l 0
LPOP l 2
RPOP l 1
LPOP nosuch 3
RPUSH l a b c d a b
LSET l 0 z
LSET l 99 z
LSET nosuch 0 z
LINSERT l BEFORE b x
LINSERT l AFTER nosuch x
LINSERT nosuch AFTER b x
LREM l 0 nosuch
LREM l 0 b
LTRIM l 0 2
LTRIM l 0 -1
LTRIM nosuch 0 1
LTRIM l 5 1
RPUSH l a b c
LMOVE l l2 LEFT RIGHT
LMOVE l l2 RIGHT LEFT
RPOPLPUSH l l2
RPOPLPUSH l l2
LMOVE l2 l2 LEFT RIGHT
LMOVE nosuch l2 LEFT RIGHT
LMPOP 2 nosuch l2 LEFT COUNT 2
LMPOP 2 nosuch l2 RIGHT
LMPOP 2 nosuch l2 RIGHT
RPUSH l a b c d e f g
BLPOP nosuch l 1
BRPOP l nosuch 1
BLMOVE l l3 LEFT LEFT 1
BRPOPLPUSH l l3 1
BLMPOP 1 2 nosuch l LEFT COUNT 1
BLMPOP 1 2 nosuch l RIGHT COUNT 9
LREM l3 0 a
LREM l3 0 b
LREM l3 0 f
LLEN nosuch
LRANGE nosuch 0 1
LINDEX nosuch 0
LPOS nosuch 0
SET s x
LPUSH s x
DEL l
LPUSH l a
LPUSHX l b c
RPOPLPUSH l l
LMOVE l l LEFT LEFT
LTRIM l 1 1
LMOVE l l RIGHT LEFT
LMOVE l l LEFT RIGHT
BLMOVE l l LEFT RIGHT 1
RPOPLPUSH l lnew
LMPOP 1 lnew LEFT COUNT 10
BLMPOP 0.01 1 lnew LEFT
BLPOP lnew 0.01
BRPOPLPUSH lnew l 0.01
RPUSH l a a a
LREM l 2 a
LREM l -2 a
RPUSH l a b
RPOP l 5
LINSERT l BEFORE a b
"""
SETS = """
SADD s a b c
SADD s a b
SADD s d
SREM s a nosuch
SREM s nosuch
SREM nosuch x
SMOVE s t b
SADD s b
SMOVE s t b
SMOVE s t nosuch
SMOVE s s c
SMOVE nosuch t x
SADD s x
SPOP s
SPOP s 0
SPOP s 10
SPOP s
SPOP s 3
SADD u a
SMOVE u v a
SADD s a b c
SADD t b c d
SINTERSTORE d s t
SUNIONSTORE d s t
SDIFFSTORE d s t
SINTERSTORE d s nosuch
SINTERSTORE d nosuch s
SUNIONSTORE d nosuch nosuch2
SUNIONSTORE d nosuch s
SDIFFSTORE d nosuch s
SDIFFSTORE d s nosuch
SINTER s nosuch t
SINTER nosuch s nosuch2
SUNION s nosuch nosuch2
SDIFF nosuch nosuch2
SINTERCARD 2 nosuch nosuch2
SCARD nosuch
SMEMBERS nosuch
SISMEMBER nosuch x
SMISMEMBER nosuch x
SRANDMEMBER nosuch
SRANDMEMBER nosuch 2
SSCAN nosuch 0
SREM s a b c
SADD one a
SMOVE one two a
SMOVE two two a
SADD one a
SMOVE one two a
SPOP two
SADD one a b
SPOP one 2
SET str x
SINTERSTORE str one two
SADD one a b
SUNIONSTORE str one
SET str x
SUNIONSTORE str one
SDIFFSTORE one one one
SADD one a a
SREM one a a
"""
HASHES = """
HSET h f v g w
HSET h f v
HMSET h f v
HSETNX h f v
HSETNX h n v
HSETNX h2 n v
HINCRBY h c 1
HINCRBYFLOAT h c 1.5
HINCRBY h f 1
HDEL h nosuch
HDEL h f
HDEL h g c n
HDEL nosuch f
HGET nosuch f
HMGET nosuch f
HGETALL nosuch
HKEYS nosuch
HVALS nosuch
HLEN nosuch
HEXISTS nosuch f
HSTRLEN nosuch f
HRANDFIELD nosuch
HRANDFIELD nosuch 1
HSCAN nosuch 0
HSETNX h2 n w
HDEL h2 n n
HSET h2 a 1 b 2
HMSET h2 a 1
HINCRBY h2 new 0
HINCRBYFLOAT h2 new 0
HINCRBY h3 new 5
HINCRBYFLOAT h4 new 5
HDEL h2 a b new
"""
ZSETS = """
ZADD z 1 a 2 b 3 c
ZADD z 1 a
ZADD z 5 a
ZADD z XX 9 nosuch
ZADD z GT 1 a
ZADD z INCR 1 a
ZADD z INCR 0 a
ZADD z NX INCR 1 a
ZADD nosuch XX 1 a
ZINCRBY z 1 a
ZINCRBY z 0 a
ZINCRBY y 0 a
ZREM z a nosuch
ZREM z nosuch
ZREM nosuch a
ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
ZREMRANGEBYRANK z 0 0
ZREMRANGEBYSCORE z 2 2
ZREMRANGEBYSCORE z 99 100
ZREMRANGEBYLEX nosuch - +
ZREMRANGEBYLEX z [c [c
ZPOPMIN z
ZPOPMAX z 1
ZPOPMIN z 0
ZPOPMAX nosuch
ZPOPMIN z 9
ZADD z 1 a 2 b 3 c 4 d
BZPOPMIN nosuch z 1
BZPOPMAX z 1
ZMPOP 2 nosuch z MIN
BZMPOP 1 2 nosuch z MAX COUNT 5
ZMPOP 2 nosuch z MIN
ZADD z 1 a 2 b
ZADD y 1 b 2 c
ZUNIONSTORE d 2 z y
ZINTERSTORE d 2 z y
ZDIFFSTORE d 2 z y
ZINTERSTORE d 2 z nosuch
ZINTERSTORE d 2 z nosuch
ZUNIONSTORE d 2 nosuch z
ZDIFFSTORE d 2 nosuch z
ZRANGESTORE d z 0 -1
ZRANGESTORE d z 5 9
ZRANGESTORE d nosuch 5 9
ZREMRANGEBYRANK z 0 -1
ZUNION 2 y nosuch
ZINTER 2 nosuch nosuch2
ZDIFF 2 nosuch nosuch2
ZINTERCARD 2 nosuch nosuch2
ZCARD nosuch
ZSCORE nosuch a
ZMSCORE nosuch a
ZRANK nosuch a
ZREVRANK nosuch a
ZCOUNT nosuch 0 1
ZLEXCOUNT nosuch - +
ZRANGE nosuch 0 1
ZREVRANGE nosuch 0 1
ZRANGEBYSCORE nosuch 0 1
ZREVRANGEBYSCORE nosuch 0 1
ZRANGEBYLEX nosuch - +
ZREVRANGEBYLEX nosuch + -
ZRANDMEMBER nosuch
ZRANDMEMBER nosuch 1
ZSCAN nosuch 0
ZADD z CH 1 a 2 b
ZADD z CH 1 a 3 b
ZADD z XX CH 1 a
ZADD z NX 7 a 1 new
ZADD z LT 0 new
ZADD z 1.0 a
ZADD z INCR 5 fresh
ZADD fresh INCR 5 m
ZADD fresh XX INCR 5 none
ZINCRBY fresh 1 other
ZREMRANGEBYLEX fresh - +
ZREMRANGEBYSCORE z -inf +inf
ZADD z 1 a
ZREM z a
ZADD z 1 a
ZPOPMAX z
ZADD z 1 a
ZMPOP 1 z MAX COUNT 3
BZPOPMIN z 0.01
BZPOPMAX z 0.01
BZMPOP 0.01 1 z MIN
ZADD z 1 a 2 b
ZRANGESTORE z z 0 0
ZUNIONSTORE z 1 z
SET str x
ZUNIONSTORE str 1 z
ZDIFFSTORE str 2 z z
ZREM z a a
ZRANK nosuch a
"""
RESTORED = r"""
RESTORE r 0 "\x00\x01\x76\x0a\x00\x91\x08\xce\xb2\x19\x38\x8a\xce"
RESTORE r 0 "\x00\x01\x76\x0a\x00\x91\x08\xce\xb2\x19\x38\x8a\xce"
RESTORE r 100000 "\x00\x01\x76\x0a\x00\x91\x08\xce\xb2\x19\x38\x8a\xce" REPLACE
RESTORE r 1 "\x00\x01\x76\x0a\x00\x91\x08\xce\xb2\x19\x38\x8a\xce" REPLACE ABSTTL
RESTORE r 1 "\x00\x01\x76\x0a\x00\x91\x08\xce\xb2\x19\x38\x8a\xce" REPLACE ABSTTL
DUMP nosuch
"""
HYPERLOGLOGS = """
PFADD p a b
PFADD p a
PFADD q
PFADD q
PFADD p2 z
PFMERGE p p2
PFMERGE p3 p2 nosuch
PFCOUNT nosuch
PFCOUNT p nosuch
PFCOUNT p
PFDEBUG TODENSE p
PFMERGE nosuch
"""
GEO = """
GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
GEOADD g 13.361389 38.115556 Palermo
GEOADD g 13.5 38.1 Palermo
GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km
GEOSEARCHSTORE d g FROMLONLAT 90 37 BYRADIUS 2 km
GEORADIUS g 15 37 200 km STORE d
GEORADIUS g 15 37 200 km
GEORADIUS g 90 37 2 km STORE d
GEORADIUSBYMEMBER g Palermo 200 km STOREDIST d
GEORADIUS nosuch 90 37 2 km STORE d
GEOSEARCHSTORE d nosuch FROMLONLAT 90 37 BYRADIUS 2 km
GEOPOS nosuch a
GEOHASH nosuch a
GEODIST nosuch a b
GEOSEARCH nosuch FROMLONLAT 15 37 BYRADIUS 200 km
GEORADIUS_RO nosuch 15 37 200 km
"""
STREAMS = """
XADD x 1-1 f v
XADD x NOMKSTREAM 1-2 f v
XADD nosuch NOMKSTREAM 1-2 f v
XADD x MAXLEN 2 1-3 f v
XADD x MAXLEN 9 1-4 f v
XADD x 1-5 f v
XDEL x 1-1
XDEL x 1-5
XTRIM x MAXLEN 9
XTRIM x MAXLEN 1
XSETID x 9-9
XADD x 10-1 f v
XGROUP CREATE x g 0
XGROUP CREATE made g $ MKSTREAM
XGROUP SETID x g 0
XGROUP CREATECONSUMER x g bob
XGROUP CREATECONSUMER x g bob
XREADGROUP GROUP g eve STREAMS x >
XREADGROUP GROUP g eve STREAMS x >
XREADGROUP GROUP g joe STREAMS x 0
XCLAIM x g ann 0 10-1
XCLAIM x g ann 0 10-1
XAUTOCLAIM x g tom 0 0
XACK x g 10-1
XGROUP DELCONSUMER x g bob
XGROUP DELCONSUMER x g bob
XGROUP DESTROY x g
XGROUP DESTROY x g
XLEN nosuch
XRANGE nosuch - +
XREAD STREAMS nosuch 0
XDEL x 1-4 10-1
XTRIM x MAXLEN 0
XADD y MINID 5 4-1 f v
XADD y MAXLEN 0 5-1 f v
XADD y 5-1 f v
XADD y * f v
XTRIM y MINID 0
XTRIM y MAXLEN ~ 0
XSETID nosuch 1-1
XGROUP CREATE y g 0
XGROUP CREATE y g 0
XGROUP CREATE nosuch g 0
XGROUP DESTROY nosuch g
XGROUP CREATE z g 0
XGROUP CREATE z g 0 MKSTREAM
XGROUP CREATE y h 0
XADD z 1-1 f v
XREADGROUP GROUP g one STREAMS y z > >
XREADGROUP GROUP g one NOACK STREAMS y z > 0
XREADGROUP GROUP g three STREAMS y z 0 0
XREADGROUP GROUP none one STREAMS y >
XREADGROUP GROUP g two BLOCK 10 STREAMS y >
XREADGROUP GROUP h two COUNT 1 STREAMS y >
XCLAIM y g new 0 99-1
XCLAIM y g new 0 5-1 FORCE
XAUTOCLAIM y g newer 0 99-1
XAUTOCLAIM y g newer 0 0
XACK nosuch g 1-1
XACK z g 1-1
XREAD STREAMS nosuch nosuch2 0 0
XREAD STREAMS y nosuch 0 $
XREVRANGE nosuch + -
XDEL nosuch 1-1
XDEL z 9-9
XSETID z 9-9 ENTRIESADDED 9 MAXDELETEDID 3-3
DEL y z
"""
FUNCTIONS = r"""
FUNCTION LOAD "#!lua name=n\nredis.register_function('f', function(k) redis.call('del', k[1]) end)"
SET a 1
FCALL f 1 a
FUNCTION DELETE n
FUNCTION FLUSH
"""
BITS = """
SETBIT b 7 0
SETBIT b 7 1
SETBIT b 7 1
SETBIT b 100 0
BITFIELD b SET u8 200 0
BITFIELD b GET u8 0 INCRBY u8 0 0
BITFIELD none OVERFLOW FAIL INCRBY u2 0 9
BITFIELD none GET u8 0
BITFIELD b SET u8 0 7 SET u8 0 0
BITFIELD b SET u8 0 7 SET u8 0 1
BITFIELD b SET u8 0 1
BITFIELD b OVERFLOW FAIL INCRBY u8 800 256 GET u8 0
BITFIELD b OVERFLOW FAIL INCRBY u8 0 255 SET u8 0 1
BITFIELD b OVERFLOW SAT INCRBY u8 0 255 INCRBY u8 0 1
BITFIELD b OVERFLOW SAT INCRBY u8 0 1
BITFIELD none2 GET u8 0 SET u8 0 0
BITFIELD b
BITFIELD none3
SETBIT b 600000 1
SETBIT b 600000 1
SETBIT b 600001 0
SETBIT b 5 1
BITFIELD b SET u8 600000 7
BITFIELD b SET u8 600000 7
APPEND b x
BITOP NOT b2 b
DEL b b2
"""
LONG = f"""
SET l {"x" * 70_000}
GETSET l {"y" * 70_000}
GETRANGE l 0 1
GETEX l EX 100
PERSIST l
RENAME l m
COPY m n
COPY m n REPLACE
MOVE m 1
MSET m {"z" * 70_000} n x
SETRANGE m 0 a
GETDEL m
"""
TRANSACTIONS = """
MULTI
SET a 1
GET nosuch
PUBLISH news hello
SELECT 1
SADD s x
SELECT 0
LPUSH a x
DEL a
EXEC
MULTI
SET a 1
DISCARD
MULTI
SET x 1
SELECT 1
SET y 1
MOVE y 0
COPY x z DB 0
SELECT 0
SET y 2
COPY x y DB 1
EXEC
EVAL "redis.call('set', 'a', 1) redis.call('publish', 'news', 'x') redis.call('incr', 'a')" 0
EVAL "redis.call('set', 'b', 1) redis.call('lpush', 'b', 1)" 0
MULTI
EVAL "redis.call('publish', 'news', 'y') return redis.call('get', 'nosuch')" 0
PUBLISH news z
EXEC
MULTI
SET a 1
PUBLISH news before
FLUSHALL
SET b 1
PUBLISH news after
SELECT 1
SET c 1
SELECT 0
DEL b
EXEC
MULTI
RPUSH l a
BLPOP l 0
BLPOP l 0
EXEC
EVAL "redis.call('rpush', 'l', 1) redis.call('lpop', 'l') return redis.call('exists', 'l')" 0
EVAL "redis.call('set', 'b', 1) error('no')" 0
EVAL "redis.call('select', 1) redis.call('set', 'd', 2) redis.call('move', 'd', 0)" 0
EVAL_RO "return redis.call('get', 'nosuch')" 0
"""
SCRIPTS = {
    name.lower(): script
    for name, script in globals().items()
    if name.isupper() and isinstance(script, str)
}
