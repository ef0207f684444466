"""Sorted sets: ranges by rank, score and name."""

TABLE = """
ZADD key {score member}...
ZADD key '0 'a '0 'b '0 'c '0 '
ZADD key '0 member '0 member '0 member '0 member
ZADD key '1 member '2 member '2 member '3 member '-1.5 member
ZRANGE key index index [REV] [WITHSCORES]
ZRANGE key bound bound BYSCORE [REV] [LIMIT limit limit] [WITHSCORES]
ZRANGE key lex lex BYLEX [REV] [LIMIT limit limit]
ZRANGE key {bound|lex|index} {bound|lex|index} {BYSCORE|BYLEX|REV|WITHSCORES|LIMIT limit limit}...
ZREVRANGE key index index [WITHSCORES]
ZRANGEBYSCORE key bound bound [WITHSCORES] [LIMIT limit limit]
ZREVRANGEBYSCORE key bound bound [LIMIT limit limit] [WITHSCORES]
ZRANGEBYLEX key lex lex [LIMIT limit limit]
ZREVRANGEBYLEX key lex lex [LIMIT limit limit]
ZRANGESTORE key key index index [REV]
ZRANGESTORE key key bound bound BYSCORE [REV] [LIMIT limit limit]
ZRANGESTORE key key lex lex BYLEX [REV] [LIMIT limit limit]
ZRANGESTORE key key {bound|lex|index} {bound|lex|index} {BYSCORE|BYLEX|REV|WITHSCORES|LIMIT limit limit}...
ZCOUNT key bound bound
ZLEXCOUNT key lex lex
ZREMRANGEBYRANK key index index
ZREMRANGEBYSCORE key bound bound
ZREMRANGEBYLEX key lex lex
"""  # noqa: E501 (a command form is one line)
