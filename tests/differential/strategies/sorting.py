"""SORT and SORT_RO, on sets and sorted sets; a stored result is a list, which SORT reads back.

No score is -0 here: SORT has Redis keep a small sorted set as a large one, and those show it.
"""

TABLE = """
SADD key '1 '2 '10 '3
SADD key member...
ZADD key '3 '1 '1 '2 '2 '3
ZADD key {{'1|'0|'-1.5|'inf|'0.1|'1e17} member}...
SET {'k1|'k2|'k3} {'1|'5|'-2.5|'abc|'inf|'nan|'1e400|'}
HSET {'k1|'k2|'k3} 'f1 {'1|'5|'abc} 'f2 value
SORT key
SORT key [LIMIT limit limit] [ASC|DESC] [ALPHA]
SORT key [BY by] [LIMIT limit limit] [GET get...] [ASC|DESC] [ALPHA]
SORT key [BY by] GET get GET get [ALPHA]
SORT key ALPHA STORE key
SORT key [BY by] [LIMIT limit limit] [GET get] [DESC] [ALPHA] STORE key
SORT_RO key [BY by] [LIMIT limit limit] [GET get] [ASC|DESC] [ALPHA]
SORT_RO key STORE key
SORT key 'foo
TYPE key
"""
