"""HyperLogLogs, whose bytes GET shows."""

TABLE = """
PFADD key
PFADD key member...
PFADD key value...
PFCOUNT key
PFCOUNT key key...
PFMERGE key
PFMERGE key key...
GET key
PFDEBUG {ENCODING|DECODE|TODENSE|'foo} key
PFSELFTEST
"""
