"""The server: CONFIG, INFO and what tools ask when they connect."""

TABLE = """
DBSIZE
TIME
ROLE
LASTSAVE
!WAIT '0 {'0|'1|'-1|'abc}
!WAIT 'abc '0
INFO
INFO {'server|'clients|'memory|'persistence|'stats|'commandstats|'errorstats|'keyspace|'nosuch|'all|'everything}...
!CONFIG GET {'maxmemory|'databases|'save|'appendonly|'timeout|'maxclients|'requirepass|'nosuch|'proto-max-bulk-len|'slowlog-max-len|'MAXMEMORY}
!CONFIG GET {'maxmemory|'appendonly|'nosuch|'save} {'databases|'timeout|'maxmemory}
!CONFIG SET {'timeout|'slowlog-max-len|'slowlog-log-slower-than|'latency-monitor-threshold} {'0|'100|'-1|'abc|'}
!CONFIG SET 'maxmemory {'0|'abc|'-1}
!CONFIG SET 'timeout '0 {'nosuch 'x|'timeout '1|'slowlog-max-len '64|'slowlog-max-len}
!CONFIG SET {'nosuch 'x|'databases '5|'maxmemory}
CONFIG RESETSTAT
!CONFIG 'foo
!CONFIG GET
SLOWLOG LEN
SLOWLOG GET [count]
SLOWLOG RESET
SLOWLOG 'foo
LATENCY LATEST
LATENCY HISTORY 'command
LATENCY RESET
LATENCY 'foo
MEMORY USAGE key
MEMORY 'foo
!DEBUG SLEEP '0
!DEBUG SET-ACTIVE-EXPIRE '1
!DEBUG OBJECT 'nosuch
!DEBUG 'foo
SWAPDB db db
FLUSHALL [ASYNC|SYNC|'foo]
FLUSHDB [ASYNC|SYNC|'foo]
!SHUTDOWN {ABORT|'foo|'ABORT 'NOW|'SAVE 'NOSAVE}
READONLY
READWRITE
ASKING
CLUSTER {INFO|SLOTS|'foo}
CLUSTER {COUNTKEYSINSLOT|FORGET|REPLICATE} '1
MODULE LIST
!MODULE 'foo
ACL {WHOAMI|USERS|LIST|CAT|'foo}
ACL GETUSER {'default|'nobody}
ACL CAT 'nosuch
ACL DELUSER 'nosuch
ACL DRYRUN {'default|'nosuch} {GET key|SET key value|CONFIG GET 'x|'nosuch 'x}
!ACL GENPASS {'0|'x|'5000}
ACL {LOAD|SAVE}
!SAVE ['foo]
LOLWUT
LOLWUT VERSION '5 '1 '1 '1
"""  # noqa: E501 (a command form is one line)
