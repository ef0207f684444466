"""Lists, and the commands that wait, where there is something or the wait is short."""

TABLE = """
LPUSH key member...
RPUSH key member...
LPUSHX key member...
RPUSHX key member...
LPOP key
LPOP key count
RPOP key
RPOP key count
LLEN key
LRANGE key index index
LINDEX key index
LSET key index member
LINSERT key {BEFORE|AFTER|'foo} member member
LREM key rcount member
LTRIM key index index
LPOS key member
LPOS key member [RANK index] [COUNT rcount] [MAXLEN rcount]
LMOVE key key {LEFT|RIGHT} {LEFT|RIGHT|'foo}
RPOPLPUSH key key
LMPOP numkeys key... {LEFT|RIGHT|'foo} [COUNT count]
LMPOP '2 key key {LEFT|RIGHT} [COUNT count]
!BLPOP key... '0.001
!BRPOP key key '0.001
!BLMOVE key key {LEFT|RIGHT} {LEFT|RIGHT} '0.001
!BRPOPLPUSH key key '0.001
!BLMPOP '0.001 '2 key key {LEFT|RIGHT} [COUNT count]
!BZPOPMIN key... '0.001
!BZPOPMAX key... '0.001
!BZMPOP '0.001 '2 key key {MIN|MAX} [COUNT count]
LRANGE key '0 '-1
"""
