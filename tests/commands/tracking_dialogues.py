"""What clients say that track, and others: see dialogues.py."""

DIALOGUES = {
    "read once, told once": """
        a: CLIENT TRACKING ON
        b: MSET k 1 l 2
        a: MGET k l nosuch
        b: INCR k
        b: INCR k
        b: SET nosuch 1
        b: DEL l
        a: CLIENT TRACKINGINFO
        a: CLIENT TRACKING OFF
        b: SET k 2
        a: CLIENT TRACKINGINFO
    """,
    "other databases": """
        a: CLIENT TRACKING ON
        a: GET k
        b: SELECT 3
        b: SET k 1
        a: GET k
        b: MOVE k 0
        a: SELECT 5
        a: GET k
        b: SELECT 0
        b: DEL k
    """,
    "commands that fail": """
        a: CLIENT TRACKING ON
        b: SET k v
        a: LRANGE k 0 -1
        b: APPEND k v
        a: GET k
        b: LPUSH k x
        b: SET k w NX
        b: INCR k
        b: RENAME nosuch k
        b: SETRANGE k 0 ''
        b: SET k w
    """,
    "flushes": """
        a: CLIENT TRACKING ON
        c: CLIENT TRACKING ON BCAST PREFIX x
        b: SET k 1
        a: GET k
        b: FLUSHDB
        b: SET k 1
        a: GET k
        a: FLUSHALL
        b: FLUSHALL ASYNC
        b: SELECT 7
        b: FLUSHDB
        a: DEBUG RELOAD
    """,
    "renames and copies": """
        a: CLIENT TRACKING ON
        b: MSET k 1 l 2 m 3
        a: MGET k l m n
        b: RENAME k l
        a: MGET k l m n
        b: COPY l n
        b: RENAMENX m l
        b: RENAMENX m o
        a: GET o
        b: RENAME o o
    """,
    "a transaction of the client itself": """
        a: CLIENT TRACKING ON
        b: MSET k 1 l 2
        a: GET k
        a: MULTI
        a: INCR k
        a: GET k
        a: INCR k
        a: GET l
        a: EXEC
        b: SET k 5
        b: SET l 5
        a: MULTI
        a: GET k
        a: DISCARD
        b: SET k 6
        a: MULTI
        a: FLUSHDB
        a: SET k 1
        a: EXEC
    """,
    "a transaction of another": """
        a: CLIENT TRACKING ON
        a: MGET k l m
        b: MULTI
        b: SET l 1
        b: SET k 1
        b: GET m
        b: SET k 2
        b: EXEC
        b: SET m 1
    """,
    "scripts": """
        a: CLIENT TRACKING ON
        b: MSET k 1 l 2 m 3
        a: EVAL "return redis.call('get', KEYS[1])" 2 k l
        b: MSET l 1 k 1
        a: EVAL "redis.call('set', 'm', 'x')" 2 k l
        b: MSET l 2 k 2
        a: EVAL "redis.call('get', 'm')" 1 k
        b: SET m 4
        b: SET k 4
        a: EVAL_RO "redis.call('ping')" 1 k
        b: SET k 5
        a: EVAL_RO "return redis.call('get', 'k')" 1 k
        b: EVAL "redis.call('set', KEYS[1], 1); redis.call('set', KEYS[1], 2)" 1 k
        a: GET k
        a: EVAL "redis.call('set', KEYS[1], 1); return redis.call('get', KEYS[1])" 1 k
        b: SET k 6
        a: EVAL "redis.call('get', KEYS[1]); return redis.error_reply('no')" 1 k
        b: SET k 7
        a: MULTI
        a: EVAL "return redis.call('get', KEYS[1])" 2 k l
        a: EXEC
        b: SET l 7
    """,
    "functions": r"""
        a: CLIENT TRACKING ON
        b: SET k 1
        b: FUNCTION LOAD "#!lua name=l\nredis.register_function('see', READ)"
        a: FCALL see 2 k l
        b: SET l 1
        b: SET k 2
        b: FUNCTION FLUSH
    """,
    "OPTIN": """
        a: CLIENT TRACKING ON OPTIN
        a: GET k
        b: SET k 1
        a: CLIENT CACHING YES
        a: CLIENT TRACKINGINFO
        a: GET k
        a: GET l
        b: MSET k 2 l 2
        a: CLIENT CACHING YES
        a: CLIENT GETNAME
        a: PING
        a: GET k
        b: SET k 3
        a: CLIENT CACHING YES
        a: MULTI
        a: GET k
        a: GET l
        a: EXEC
        a: GET m
        b: MSET k 4 l 4 m 4
        a: MULTI
        a: GET k
        a: CLIENT CACHING YES
        a: GET l
        a: EXEC
        b: MSET k 5 l 5
        a: CLIENT CACHING YES
        a: NOSUCH
        a: GET k
        b: SET k 6
        a: CLIENT CACHING YES
        a: CLIENT GETNAME more
        a: GET k
        b: SET k 7
        a: CLIENT CACHING YES
        a: GET
        a: GET k
        b: SET k 8
        a: CLIENT CACHING YES
        a: CLIENT NOSUCH
        a: GET k
        b: SET k 9
        a: CLIENT CACHING YES
        a: EVAL "return redis.call('get', KEYS[1])" 1 k
        b: SET k 10
    """,
    "OPTOUT": """
        a: CLIENT TRACKING ON OPTOUT
        a: GET k
        b: SET k 1
        a: CLIENT CACHING NO
        a: CLIENT TRACKINGINFO
        a: GET k
        b: SET k 2
        a: GET k
        b: SET k 3
        a: CLIENT CACHING NO
        a: CLIENT TRACKING ON OPTOUT NOLOOP
        a: CLIENT TRACKINGINFO
    """,
    "NOLOOP": """
        a: CLIENT TRACKING ON NOLOOP
        a: MGET k l
        a: SET k 1
        b: SET l 1
        b: SET k 2
        a: GET k
        a: EVAL "return redis.call('set', KEYS[1], 1)" 1 k
        b: SET k 3
        a: MULTI
        a: SET k 4
        a: GET k
        a: EXEC
        b: SET k 5
        a: FLUSHALL
    """,
    "prefixes": """
        a: CLIENT TRACKING ON BCAST PREFIX user: PREFIX order:
        b: MSET user:2 x user:1 y order:1 z other 1
        a: SET user:3 x
        a: CLIENT TRACKING ON BCAST PREFIX item:
        a: CLIENT TRACKINGINFO
        a: CLIENT GETREDIR
        b: MULTI
        b: SET item:2 1
        b: SET user:1 1
        b: SET item:1 1
        b: DEL item:2
        b: EXEC
        a: CLIENT TRACKING ON
        a: CLIENT TRACKING OFF
        b: SET item:1 2
        a: CLIENT TRACKING ON BCAST PREFIX ''
        b: SET anything 1
        a: CLIENT TRACKING ON BCAST PREFIX more
        a: CLIENT TRACKING ON BCAST
        a: CLIENT TRACKINGINFO
    """,
    "prefixes and NOLOOP": """
        a: CLIENT TRACKING ON BCAST NOLOOP
        c: CLIENT TRACKING ON BCAST PREFIX k
        a: SET k1 1
        b: SET k2 1
        a: MULTI
        a: SET k1 2
        a: SET k2 2
        a: EXEC
        c: SET k3 3
    """,
    "from one mode to the other": """
        a: CLIENT TRACKING ON
        a: GET k
        a: CLIENT TRACKING ON BCAST
        a: CLIENT TRACKING OFF
        a: CLIENT TRACKING ON BCAST
        b: SET k 1
        a: GET k
        b: SET k 2
        a: CLIENT TRACKING OFF
        a: CLIENT TRACKING ON OPTIN
        a: CLIENT TRACKING ON OPTOUT
        a: CLIENT TRACKING ON
        a: CLIENT TRACKING ON OPTOUT
        a: CLIENT TRACKINGINFO
    """,
    "RESP2 redirects to who is subscribed": """
        r: SUBSCRIBE __redis__:invalidate
        d: CLIENT TRACKING ON REDIRECT @r
        d: CLIENT TRACKINGINFO
        d: CLIENT GETREDIR
        d: GET k
        b: SET k 1
        d: MGET k l
        d: SET k 2
        b: FLUSHALL
        r: UNSUBSCRIBE
        d: GET k
        b: SET k 3
        r: SUBSCRIBE anything
        d: GET k
        b: SET k 4
        d: CLIENT TRACKING OFF
        d: CLIENT TRACKING ON BCAST REDIRECT @r
        b: MSET y 1 x 2
    """,
    "RESP2 alone hears nothing": """
        d: CLIENT TRACKING ON
        d: GET k
        b: SET k 1
        d: HELLO 3
        b: SET k 2
        d: GET k
        b: SET k 3
        d: GET k
        d: HELLO 2
        b: SET k 3
    """,
    "RESP3 redirects to RESP3": """
        a: CLIENT TRACKING ON REDIRECT @c
        c: CLIENT TRACKING ON REDIRECT @c
        a: GET k
        c: GET l
        b: MSET k 1 l 1
        a: GET k
        a: SET k 2
        b: FLUSHALL
    """,
    "a target that is gone": """
        r: SUBSCRIBE __redis__:invalidate
        a: CLIENT TRACKING ON REDIRECT @r
        d: CLIENT TRACKING ON REDIRECT @r
        a: MGET k l
        d: MGET k l
        r: QUIT
        b: SET k 1
        a: CLIENT TRACKINGINFO
        d: CLIENT TRACKINGINFO
        a: CLIENT GETREDIR
        a: SET l 1
        b: FLUSHALL
        a: CLIENT TRACKING ON
        a: CLIENT TRACKINGINFO
    """,
    "wrong options": r"""
        a: CLIENT TRACKING ON REDIRECT
        a: CLIENT TRACKING ON REDIRECT x
        a: CLIENT TRACKING ON REDIRECT 0
        a: CLIENT TRACKING ON REDIRECT -1
        a: CLIENT TRACKING ON REDIRECT 1234567
        a: CLIENT TRACKING ON REDIRECT @b REDIRECT @c
        a: CLIENT TRACKING ON REDIRECT @b NOSUCH
        a: CLIENT TRACKING ON PREFIX
        a: CLIENT TRACKING ON PREFIX a
        a: CLIENT TRACKING ON BCAST PREFIX
        a: CLIENT TRACKING ON BCAST OPTIN
        a: CLIENT TRACKING ON BCAST OPTOUT
        a: CLIENT TRACKING ON OPTIN OPTOUT
        a: CLIENT TRACKING ON BCAST PREFIX FOOBAR PREFIX FOO
        a: CLIENT TRACKING ON BCAST PREFIX FOO PREFIX FOOBAR
        a: CLIENT TRACKING ON BCAST PREFIX 'a\r\nb' PREFIX a
        a: CLIENT TRACKING ON BCAST PREFIX 'a\0b' PREFIX a
        a: CLIENT TRACKING ON BCAST PREFIX '' PREFIX a
        a: CLIENT TRACKING ON BCAST PREFIX FOO PREFIX BAR
        a: CLIENT TRACKING ON BCAST PREFIX FO
        a: CLIENT TRACKING ON BCAST PREFIX BARB
        a: CLIENT TRACKING ON BCAST PREFIX FOO
        a: CLIENT TRACKING ON
        a: CLIENT TRACKING NOSUCH
        a: CLIENT TRACKING OFF NOSUCH
        a: CLIENT TRACKING OFF REDIRECT 99999
        a: CLIENT TRACKING NOSUCH REDIRECT 99999
        a: CLIENT TRACKING
        a: CLIENT TRACKINGINFO
        a: CLIENT TRACKING off bcast
        a: client tracking on noloop optin
        a: CLIENT TRACKINGINFO
        a: CLIENT TRACKING OFF
        a: CLIENT TRACKING OFF
        a: CLIENT CACHING YES
        a: CLIENT CACHING
        a: CLIENT TRACKING ON
        a: CLIENT CACHING YES
        a: CLIENT CACHING NO
        a: CLIENT CACHING NOSUCH
        a: CLIENT TRACKING ON OPTIN
        a: CLIENT CACHING NO
        a: CLIENT CACHING YES NO
        a: CLIENT GETREDIR more
        a: CLIENT TRACKINGINFO more
    """,
    "RESET and HELLO": """
        a: CLIENT TRACKING ON BCAST PREFIX k
        a: RESET
        b: SET k 1
        a: CLIENT TRACKINGINFO
        a: HELLO 3
        a: CLIENT TRACKING ON
        a: GET k
        b: SET k 2
    """,
    "streams and groups": """
        a: CLIENT TRACKING ON
        a: XLEN s
        b: XGROUP CREATE s g $ MKSTREAM
        a: XLEN s
        b: XGROUP CREATE s h 0
        b: XADD s 1-1 f v
        a: XRANGE s - +
        b: XREADGROUP GROUP g c STREAMS s >
        b: XACK s g 1-1
        b: XGROUP SETID s g 0
        b: XCLAIM s g d 0 1-1 FORCE
        b: XGROUP DESTROY s h
        b: XSETID s 9-9
        b: XDEL s 1-1
    """,
}
