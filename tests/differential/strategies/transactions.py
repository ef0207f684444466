"""Transactions: what is queued has replies that Redis leaves no choice in."""

TABLE = """
MULTI
MULTI
MULTI
EXEC
EXEC
EXEC
DISCARD
WATCH key...
UNWATCH
SET key value
GET key
INCR key
APPEND key value
LPUSH key member
LPOP key
HSET key field value
HGET key field
ZADD key score member
ZSCORE key member
DEL key key
EXISTS key...
RENAME key key
TYPE key
SELECT db
SWAPDB db db
FLUSHDB
DBSIZE
PING
!BLPOP key '0.001
!CLIENT 'foo
!EXEC 'foo
"""
