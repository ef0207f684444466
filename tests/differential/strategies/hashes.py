"""Hashes."""

TABLE = """
HSET key {field value}...
HMSET key {field value}...
HSET key field value field
HSETNX key field value
HGET key field
HMGET key field...
HGETALL key
HKEYS key
HVALS key
HLEN key
HEXISTS key field
HDEL key field...
HSTRLEN key field
HSET key field int
HINCRBY key field int
HSET key field float
HINCRBYFLOAT key field float
HSCAN key cursor [MATCH pattern] [COUNT scancount]
HSCAN key '0 [COUNT scancount] [MATCH pattern]
HRANDFIELD key
HRANDFIELD key rcount
HRANDFIELD key rcount WITHVALUES
HRANDFIELD key rcount 'foo
"""
