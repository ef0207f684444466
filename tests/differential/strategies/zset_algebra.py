"""Sorted sets: union, intersection, difference (plain sets take part with score 1)."""

TABLE = """
ZADD key {score member}...
ZADD key '1 'a '2 'b '3 'c
ZADD key '10 'b '20 'c '30 '1
SADD key member...
ZUNION numkeys key... [WEIGHTS weight...] [AGGREGATE {SUM|MIN|MAX|'foo}] [WITHSCORES]
ZUNION '2 key key [WEIGHTS weight weight] [AGGREGATE {SUM|MIN|MAX}] [WITHSCORES]
ZINTER '2 key key [AGGREGATE {SUM|MIN|MAX}] [WEIGHTS weight weight] [WITHSCORES]
ZINTER '1 key [WEIGHTS weight] [WITHSCORES]
ZDIFF '2 key key [WITHSCORES]
ZDIFF numkeys key... [WITHSCORES]
ZDIFF '2 key key WEIGHTS '1 '1
ZUNIONSTORE key '2 key key [WEIGHTS weight weight] [AGGREGATE {SUM|MIN|MAX}]
ZUNIONSTORE key numkeys key... [WEIGHTS weight...] [WITHSCORES]
ZINTERSTORE key '2 key key [WEIGHTS weight weight] [AGGREGATE {SUM|MIN|MAX}]
ZINTERSTORE key numkeys key...
ZDIFFSTORE key '2 key key
ZDIFFSTORE key numkeys key...
ZINTERCARD '2 key key [LIMIT limit]
ZINTERCARD numkeys key... [LIMIT limit]
ZRANGE key '0 '-1 WITHSCORES
"""
