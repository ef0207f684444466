"""Streams and their groups. Ids are given, never taken from the clock; waits are short."""

TABLE = """
XADD key streamid {field value}...
XADD key streamid {field value}...
XADD key [NOMKSTREAM] [{MAXLEN|MINID} ['=|'~] {count|streamid}] streamid {field value}...
XADD key MAXLEN '~ count LIMIT count streamid field value
XLEN key
XRANGE key interval interval [COUNT count]
XRANGE key '- '+
XREVRANGE key interval interval [COUNT count]
XDEL key streamid...
XTRIM key {MAXLEN|MINID} ['=|'~] {count|streamid} [LIMIT count]
XSETID key streamid [ENTRIESADDED count] [MAXDELETEDID streamid]
!XREAD [COUNT count] [BLOCK '1] STREAMS key streamid
!XREAD STREAMS key key streamid streamid
!XREAD STREAMS key {'$|'>}
XGROUP CREATE key group {streamid|'$} [MKSTREAM] [ENTRIESREAD count]
XGROUP CREATE key group '0 MKSTREAM
XGROUP SETID key group {interval|'$} [ENTRIESREAD count]
XGROUP DESTROY key group
XGROUP CREATECONSUMER key group consumer
XGROUP DELCONSUMER key group consumer
!XREADGROUP GROUP group consumer [COUNT count] [NOACK] [BLOCK '1] STREAMS key '>
!XREADGROUP GROUP group consumer STREAMS key streamid
!XREADGROUP GROUP group consumer STREAMS key key '> '0
XACK key group streamid...
XPENDING key group
XPENDING key group [IDLE '0] interval interval count [consumer]
XCLAIM key group consumer '0 streamid... [FORCE] [JUSTID] [RETRYCOUNT count] [LASTID streamid]
XAUTOCLAIM key group consumer '0 interval [COUNT count] [JUSTID]
XINFO STREAM key
XINFO STREAM key FULL [COUNT count]
XINFO GROUPS key
XINFO CONSUMERS key group
"""
