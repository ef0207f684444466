"""Strings."""

TABLE = """
SET key value
SET key value [NX|XX] [GET] [EX seconds|PX millis|EXAT at|PXAT atms|KEEPTTL]
SET key value {NX|XX|GET|KEEPTTL|EX seconds|PX millis}...
GET key
GETSET key value
GETDEL key
GETEX key [EX seconds|PX millis|EXAT at|PXAT atms|PERSIST]
GETEX key {PERSIST|EX seconds|PX millis}...
SETEX key seconds value
PSETEX key millis value
SETNX key value
MSET {key value}...
MSETNX {key value}...
MSET {key value}... key
MGET key...
APPEND key value
STRLEN key
SET key int
INCR key
DECR key
INCRBY key int
DECRBY key int
SET key float
INCRBYFLOAT key float
GETRANGE key index index
SUBSTR key index index
SETRANGE key offset value
SET key {'ohmytext|'mynewtext}
LCS key key [LEN|IDX] [MINMATCHLEN count] [WITHMATCHLEN]
LCS key key {LEN|IDX|WITHMATCHLEN}...
"""
