"""Scripts and functions: other commands, called from Lua, so that replies are converted twice."""

TABLE = """
EVAL script '0 {GET key|SET key value|INCR key|APPEND key value|MGET key key|TYPE key|EXISTS key}
EVAL script '1 key {HGET key field|HSET key field value|HLEN key|HINCRBYFLOAT key field float}
EVAL script '0 {ZADD key score member|ZSCORE key member|ZRANGE key '0 '-1 WITHSCORES|ZINCRBY key score member}
EVAL script '0 {RPUSH key member|LRANGE key '0 '-1|LPOP key|SCARD key|SISMEMBER key member}
EVAL script '0 {PING|ECHO value|'nosuch|MULTI|EVAL script '0|SELECT db|DBSIZE|SUBSCRIBE 'c}
EVAL {script|newkey} numkeys key key value
EVAL_RO script '0 {GET key|SET key value|DEL key|ZSCORE key member}
EVALSHA {'e0e1f9fabfc9d4800c877a703b823ac0578ff8db|'E0E1f9fabfc9d4800c877a703b823ac0578ff8db|'nosuch} numkeys key
EVALSHA_RO 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db '0
SCRIPT LOAD {script|value}
SCRIPT EXISTS {'e0e1f9fabfc9d4800c877a703b823ac0578ff8db|value}...
SCRIPT FLUSH [ASYNC|SYNC|'foo]
SCRIPT KILL
!SCRIPT {'foo|DEBUG 'foo|DEBUG NO}
FUNCTION LOAD [REPLACE|'foo] {library|script}
FUNCTION DELETE {'one|'nosuch}
!FUNCTION FLUSH [ASYNC|SYNC|'foo]
FUNCTION LIST [LIBRARYNAME {'one|'*|'x}] [WITHCODE]
FUNCTION STATS
FUNCTION KILL
!FUNCTION RESTORE value [APPEND|FLUSH|REPLACE|'foo]
!FUNCTION 'foo
FCALL {'calls|'CALLS|'nosuch} {'0|numkeys} {GET key|SET key value|ZSCORE key member}
FCALL_RO {'calls|'nosuch} '0 {GET key|SET key value}
"""  # noqa: E501 (a command form is one line)
