"""Times to live."""

TABLE = """
EXPIRE key seconds [NX|XX|GT|LT|'foo]
EXPIRE key seconds {NX|XX|GT|LT}...
PEXPIRE key millis [NX|XX|GT|LT]
EXPIREAT key at [NX|XX|GT|LT]
PEXPIREAT key atms [NX|XX|GT|LT]
PEXPIREAT key atms {NX|XX|GT|LT}...
TTL key
PTTL key
EXPIRETIME key
PEXPIRETIME key
PERSIST key
SET key value KEEPTTL
SET key value
GETSET key value
GETEX key {PERSIST|EX seconds|PXAT atms}
SETEX key seconds value
PSETEX key millis value
APPEND key value
INCR key
HSET key field value
SADD key member
ZADD key score member
RENAME key key
COPY key key REPLACE
SUNIONSTORE key key key
EXISTS key
TYPE key
DBSIZE
"""
