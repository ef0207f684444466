"""Keys of any type, and the databases they live in."""

TABLE = """
DEL key...
UNLINK key...
EXISTS key...
TOUCH key...
TYPE key
RENAME key newkey
RENAMENX key newkey
RENAME newkey key
COPY key newkey [DB db] [REPLACE]
COPY key key {REPLACE|DB db}...
MOVE key db
SELECT db
SELECT '0
SWAPDB db db
SWAPDB '0 '1
KEYS pattern
SCAN cursor [MATCH pattern] [COUNT scancount] [TYPE type]
SCAN '0 [TYPE type] [COUNT scancount] [MATCH pattern]
RANDOMKEY
DBSIZE
FLUSHDB
FLUSHDB {ASYNC|SYNC|'foo}
FLUSHALL [ASYNC|SYNC|'foo]
PERSIST key
EXPIRE key seconds
PTTL key
OBJECT ENCODING key
OBJECT REFCOUNT key
OBJECT IDLETIME key
OBJECT FREQ key
OBJECT HELP
OBJECT 'foo key
MEMORY USAGE key [SAMPLES count]
GET newkey
SET newkey value
"""
