"""Sorted sets: members and scores."""

TABLE = """
ZADD key {score member}...
ZADD key [NX|XX] [GT|LT] [CH] [INCR] {score member}...
ZADD key [NX|XX] [GT|LT] [CH] INCR score member
ZADD key {NX|XX|GT|LT|CH|INCR}... {score member}...
ZADD key score member score
ZINCRBY key score member
ZCARD key
ZSCORE key member
ZMSCORE key member...
!ZRANK key member
!ZREVRANK key member
ZREM key member...
ZPOPMIN key
ZPOPMIN key count
ZPOPMAX key
ZPOPMAX key count
ZMPOP numkeys key... {MIN|MAX|'foo} [COUNT count]
ZMPOP '2 key key {MIN|MAX} [COUNT count]
ZMPOP '1 key MIN COUNT count COUNT count
ZRANDMEMBER key
ZRANDMEMBER key rcount
ZRANDMEMBER key rcount WITHSCORES
ZSCAN key cursor [MATCH pattern] [COUNT scancount]
ZSCAN key '0 [COUNT scancount] [MATCH pattern]
ZRANGE key '0 '-1 WITHSCORES
"""
