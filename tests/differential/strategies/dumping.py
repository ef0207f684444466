"""Payloads: what a key holds after RESTORE is compared, not DUMP, whose bytes may differ."""

TABLE = """
RESTORE key '0 payload
RESTORE key '0 payload REPLACE
RESTORE key atms payload ABSTTL [REPLACE]
RESTORE key {'0|seconds} payload {REPLACE|ABSTTL|IDLETIME int|FREQ int}...
!DUMP 'absent
GET key
LRANGE key '0 '-1
ZRANGE key '0 '-1 WITHSCORES
HGETALL key
SMEMBERS key
PEXPIRETIME key
"""
