"""Places in sorted sets.

No two members share a place here, but for members that move: which of several members at the same
distance a COUNT leaves out is up to Redis's partial sort.
"""

_FROM = "{FROMMEMBER member|FROMLONLAT longitude latitude}"
_BY = "{BYRADIUS radius unit|BYBOX radius radius unit}"
_ODD = "{BYBOX radius radius unit|ASC|FROMMEMBER member|COUNT count}..."
_SHOWN = "[WITHDIST] [WITHHASH] [WITHCOORD] [ASC|DESC]"

TABLE = f"""
GEOADD key '13.361389 '38.115556 'a '15.087269 '37.502669 'b '13.5 '38.2 'c '-70 '-20.5 '1
GEOADD key longitude latitude member
GEOADD key [NX|XX] [CH] {{longitude latitude member}}...
GEOADD key {{NX|XX|CH}}... longitude latitude member
GEODIST key member member
GEODIST key member member unit
GEOHASH key
GEOHASH key member...
GEOPOS key
GEOPOS key member...
GEOSEARCH key {_FROM} {_BY} {_SHOWN}
GEOSEARCH key {_FROM} {_BY} COUNT '1000 [ANY] {_SHOWN}
!GEOSEARCH key {_ODD} FROMLONLAT longitude latitude BYRADIUS radius unit
GEOSEARCHSTORE key key {_FROM} {_BY} [COUNT '1000] [STOREDIST]
GEORADIUS key longitude latitude radius unit {_SHOWN}
GEORADIUS key longitude latitude radius unit [STORE key] [STOREDIST key] [WITHDIST]
GEORADIUS_RO key longitude latitude radius unit [COUNT '1000] {_SHOWN}
GEORADIUS_RO key longitude latitude radius unit STORE key
GEORADIUSBYMEMBER key member radius unit {_SHOWN}
GEORADIUSBYMEMBER key member radius unit [STORE key] [STOREDIST key]
GEORADIUSBYMEMBER_RO key member radius unit {_SHOWN}
ZRANGE key '0 '-1 WITHSCORES
"""
