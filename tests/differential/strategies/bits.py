"""Strings as arrays of bits."""

TABLE = """
SETBIT key bitoffset bit
GETBIT key bitoffset
BITCOUNT key
BITCOUNT key index index [BYTE|BIT|'foo]
BITCOUNT key index
BITPOS key bit
BITPOS key bit index
BITPOS key bit index index [BYTE|BIT|'foo]
BITOP {AND|OR|XOR} key key...
BITOP NOT key key
BITOP {NOT|'FOO} key key...
BITFIELD key {GET bitfieldtype bitfieldoffset|SET bitfieldtype bitfieldoffset int|INCRBY bitfieldtype bitfieldoffset int}...
BITFIELD key OVERFLOW {WRAP|SAT|FAIL|'foo} {SET bitfieldtype bitfieldoffset int|INCRBY bitfieldtype bitfieldoffset int}...
BITFIELD key INCRBY {'u8|'i8|'u2|'i64|'u63} {'0|'#1} int OVERFLOW {SAT|FAIL|WRAP} INCRBY {'u8|'i8|'u2|'i64|'u63} {'0|'#1} int GET {'u8|'i64} '0
BITFIELD key
BITFIELD_RO key {GET bitfieldtype bitfieldoffset}...
BITFIELD_RO key SET 'u8 '0 '1
SET key value
APPEND key value
GET key
"""  # noqa: E501 (a command form is one line)
