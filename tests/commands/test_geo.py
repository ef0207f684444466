"""GEO commands over the wire: the same replies as redis-server, byte for byte."""

import random

from tests.commands.scripts import assert_same_replies
from tests.harness.wire import Arg, WireClient

Call = tuple[Arg, ...]

SCRIPT = r"""
GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
GEOADD g 13.361389 38.115556 Palermo
GEOADD g CH 13.361389 38.115557 Palermo 1 1 new
GEOADD g NX 2 2 new 3 3 newer
GEOADD g XX CH 2 2 new 3 3 newest
GEOADD g xx nx 2 2 new
GEOADD g NX CH XX
GEOADD g CH CH CH
GEOADD g CH 1 1
GEOADD g 1 1 a 2
GEOADD g 181 1 a
GEOADD g 1 86 a
GEOADD g -180.1 -85.06 a
GEOADD g inf 1 a
GEOADD g nan 1 a
GEOADD g x 1 a
GEOADD g 1 x a
GEOADD g 180 85.05112878 northeast -180 -85.05112878 southwest 180 -85.05112878 southeast
GEOADD g 0 0 zero -0.0 -0.0 minus
ZRANGE g 0 -1 WITHSCORES
GEOPOS g Palermo Catania new absent northeast southwest southeast zero minus
GEOPOS g
GEOPOS absent a b
GEOHASH g Palermo Catania new absent northeast southwest southeast zero minus
GEOHASH g
GEOHASH absent a
GEODIST g Palermo Catania
GEODIST g Palermo Catania m
GEODIST g Palermo Catania KM
GEODIST g Palermo Catania mi
GEODIST g Palermo Catania ft
GEODIST g Palermo Catania yards
GEODIST g Palermo Catania m m
GEODIST g Palermo absent
GEODIST g Palermo Palermo
GEODIST g northeast southwest
GEODIST absent a b
GEODIST absent a b yards
// any sorted set is a map
ZADD z 0 a 1 b -1 c inf d -inf e 1e300 f 4503599627370496 g 18446744073709551615 h 3.7 i
GEOPOS z a b c d e f g h i
GEOHASH z a b c d e f g h i
GEODIST z a d
GEORADIUS z 0 0 30000 km WITHDIST WITHCOORD WITHHASH ASC
// searches
GEOADD h 1 1 a 1.1 1 b 1 1.2 c 1.3 1.3 d 5 5 e
GEORADIUS h 1 1 50 km
GEORADIUS h 1 1 50 km ASC
GEORADIUS h 1 1 5000 km DESC
GEORADIUS h 1 1 5000 km WITHDIST WITHHASH WITHCOORD
GEORADIUS h 1 1 50 km withcoord withdist ASC COUNT 2
GEORADIUS h 1 1 5000 km COUNT 3 ANY
GEORADIUS h 1 1 5000 km COUNT 3 ANY DESC
GEORADIUS h 1 1 5000 km ANY
GEORADIUS h 1 1 5000 km COUNT 0
GEORADIUS h 1 1 5000 km COUNT -1
GEORADIUS h 1 1 5000 km COUNT x
GEORADIUS h 1 1 5000 km COUNT
GEORADIUS h 1 1 x km
GEORADIUS h 1 1 -1 km
GEORADIUS h 1 1 1 yards
GEORADIUS h 1 1 0 m
GEORADIUS h 1 1 inf km ASC
GEORADIUS h 1 86 1 km
GEORADIUS h x 1 1 km
GEORADIUS h 1 1 1 km FOO
GEORADIUS h 1 1 1 km STORE
GEORADIUS absent 1 1 1 km
GEORADIUS absent 1 1 -1 km
GEORADIUS absent 1 1 1 km STORE t
GEORADIUS h 1 1 50 km STORE t
ZRANGE t 0 -1 WITHSCORES
GEORADIUS h 1 1 50 km STOREDIST t ASC COUNT 2
ZRANGE t 0 -1 WITHSCORES
GEORADIUS h 1 1 50 km STOREDIST t2 STORE t
ZRANGE t 0 -1 WITHSCORES
GEORADIUS h 1 1 50 km STORE t WITHDIST
GEORADIUS h -100 1 1 km STORE t
EXISTS t
GEORADIUS_RO h 1 1 50 km ASC
GEORADIUS_RO h 1 1 50 km STORE t
GEORADIUS_RO h 1 1 50 km STOREDIST t
GEORADIUSBYMEMBER h a 20 km ASC WITHDIST
GEORADIUSBYMEMBER h absent 20 km
GEORADIUSBYMEMBER h absent x km
GEORADIUSBYMEMBER h a x km
GEORADIUSBYMEMBER absent a x km
GEORADIUSBYMEMBER absent a x yards FOO
GEORADIUSBYMEMBER absent a 1 km STORE t
GEORADIUSBYMEMBER h a 20 km STORE t
ZRANGE t 0 -1 WITHSCORES
GEORADIUSBYMEMBER_RO h a 20 km DESC
GEORADIUSBYMEMBER_RO h a 20 km STORE t
GEOSEARCH h FROMMEMBER a BYRADIUS 20 km ASC
GEOSEARCH h FROMLONLAT 1 1 BYRADIUS 20 km DESC WITHDIST
GEOSEARCH h FROMLONLAT 1 1 BYBOX 60 60 km ASC WITHDIST WITHCOORD WITHHASH
GEOSEARCH h FROMLONLAT 1 1 BYBOX 60 1 km
GEOSEARCH h BYBOX 60 1 km FROMLONLAT 1 1 FROMLONLAT 5 5
GEOSEARCH h FROMMEMBER a FROMMEMBER e BYRADIUS 1 m
GEOSEARCH h FROMMEMBER a FROMLONLAT 1 1 BYRADIUS 1 m
GEOSEARCH h FROMLONLAT 1 1 FROMMEMBER a BYRADIUS 1 m
GEOSEARCH h FROMMEMBER a BYRADIUS 1 m BYBOX 1 1 m
GEOSEARCH h FROMMEMBER a BYBOX 1 1 m BYRADIUS 1 m
GEOSEARCH h FROMMEMBER absent BYRADIUS 1 m
GEOSEARCH absent FROMMEMBER x BYRADIUS 1 m
GEOSEARCH absent FROMMEMBER x BYRADIUS x m
GEOSEARCH h FROMMEMBER a BYBOX x 1 m
GEOSEARCH h FROMMEMBER a BYBOX 1 x m
GEOSEARCH h FROMMEMBER a BYBOX 1 -1 m
GEOSEARCH h FROMMEMBER a BYBOX -1 1 x
GEOSEARCH h FROMMEMBER a BYBOX 1 1 x
GEOSEARCH h FROMMEMBER a BYRADIUS 1 m STORE t
GEOSEARCH h FROMMEMBER a BYRADIUS 1 m STOREDIST
GEOSEARCH h FROMMEMBER a BYRADIUS 1 m COUNT 1 ANY
geosearch h FROMMEMBER a ASC WITHDIST WITHCOORD
geosearch h BYRADIUS 1 m ASC WITHCOORD
GEOSEARCH h FROMLONLAT 1 1 BYBOX inf inf km
GEOSEARCHSTORE t h FROMMEMBER a BYRADIUS 20 km
ZRANGE t 0 -1 WITHSCORES
GEOSEARCHSTORE t h FROMMEMBER a BYBOX 60 60 mi STOREDIST DESC COUNT 2
ZRANGE t 0 -1 WITHSCORES
GEOSEARCHSTORE h h FROMLONLAT 1 1 BYBOX 60 60 mi
ZRANGE h 0 -1 WITHSCORES
GEOSEARCHSTORE t h FROMMEMBER a BYRADIUS 20 km WITHDIST
geosearchstore t h FROMMEMBER a ASC ASC
geosearchstore t h BYRADIUS 1 m ASC ASC
GEOSEARCHSTORE t absent FROMMEMBER a BYRADIUS 1 m
EXISTS t
// wrong types and calls
SET s x
GEOADD s 1 1 a
GEOADD s 1 1000 a
GEOPOS s a
GEOHASH s a
GEODIST s a b
GEODIST s a b yards
GEORADIUS s 1 1000 1 km
GEORADIUSBYMEMBER s a x km
GEOSEARCH s FROMMEMBER a BYRADIUS x m
GEOSEARCHSTORE s h FROMMEMBER a BYRADIUS 20 km
TYPE s
GEOADD g
GEODIST g a
GEOHASH
GEOPOS
GEORADIUS g 1 1 1
GEOSEARCH h FROMMEMBER a BYRADIUS 1
COMMAND GETKEYS GEORADIUS h 1 1 1 km STORE a STOREDIST b
COMMAND GETKEYS GEORADIUSBYMEMBER h 1 1 km STORE a
COMMAND GETKEYS GEORADIUS h 1 1 1 km
"""


def test_replies(redis_wire: WireClient, strata_wire: WireClient) -> None:
    assert_same_replies(SCRIPT, redis_wire, strata_wire)


def around(rng: random.Random, centre: tuple[float, float], spread: float) -> tuple[float, float]:
    longitude = centre[0] + rng.uniform(-spread, spread)
    latitude = centre[1] + rng.uniform(-spread, spread)
    return max(-180.0, min(180.0, longitude)), max(-85.0, min(85.0, latitude))


def random_search(rng: random.Random, centre: tuple[float, float]) -> Call:
    size = 10 ** rng.uniform(0, 4.5)
    shape: Call = ("BYRADIUS", size, "km")
    if rng.random() < 0.5:
        shape = ("BYBOX", size, size * 10 ** rng.uniform(-1, 1), rng.choice(("km", "mi")))
    order = rng.choice(((), ("ASC",), ("DESC",), ("COUNT", 5), ("COUNT", 5, "ANY")))
    place = around(rng, centre, 1)
    return ("GEOSEARCH", "k", "FROMLONLAT", *place, *shape, *order, "WITHDIST", "WITHCOORD")


def test_random_searches_find_the_same_in_the_same_order(
    redis_wire: WireClient, strata_wire: WireClient, diff_seed: int
) -> None:
    rng = random.Random(diff_seed)
    calls: list[Call] = []
    for _ in range(12):
        centre = rng.uniform(-180, 180), rng.uniform(-85, 85)
        spread = 10 ** rng.uniform(-2, 2)
        calls.append(("DEL", "k"))
        calls += [
            ("GEOADD", "k", *around(rng, centre, spread), n) for n in range(rng.choice((20, 200)))
        ]
        calls += [random_search(rng, centre) for _ in range(25)]
    expected, found = redis_wire.pipeline(calls), strata_wire.pipeline(calls)
    for call, one, other in zip(calls, expected, found, strict=True):
        assert one.raw == other.raw, call


def test_a_long_search_is_paced_and_complete(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    rng = random.Random(7)
    places = [(*around(rng, (10, 50), 3), f"m{number}") for number in range(7000)]
    words = [word for place in places for word in place]
    calls: list[Call] = [
        ("GEOADD", "k", *words),
        ("GEOSEARCH", "k", "FROMLONLAT", 10, 50, "BYRADIUS", 200, "km", "ASC", "WITHDIST"),
        ("GEOSEARCH", "k", "FROMLONLAT", 10, 50, "BYRADIUS", 900, "km", "WITHHASH"),
        ("GEOSEARCHSTORE", "t", "k", "FROMLONLAT", 10, 50, "BYRADIUS", 200, "km", "STOREDIST"),
        ("ZRANGE", "t", 0, -1, "WITHSCORES"),
    ]
    for call in calls:
        assert redis_wire.send(*call).raw == strata_wire.send(*call).raw, call[:8]
