"""GEO commands: sorted sets as maps."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.geo import geo, geo_search
from stratakv.encodings.types.geo.geo_search import Found
from stratakv.encodings.types.zsets import zsets
from stratakv.encodings.types.zsets.zsets import AddRule
from stratakv.proxy.arguments import geo_options
from stratakv.proxy.arguments.args import Args
from stratakv.proxy.arguments.geo_options import SearchOptions
from stratakv.proxy.arguments.zset_options import listing
from stratakv.proxy.table.keyspecs import KeySpec
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, Digits, Reply

command = CommandGroup("geo").command

_OPTIONS: Final = "[WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC|DESC]"
_STORE: Final = "[STORE key] [STOREDIST key]"


@command(
    "GEOADD key [NX|XX] [CH] longitude latitude member [longitude latitude member ...]",
    "write denyoom",
    key_flags="RW update",
    since="3.2.0",
)
def geoadd(txn: Txn, key: bytes, *arguments: bytes) -> int:
    """Add members with their places to a sorted set, or move members."""
    args = Args(arguments)
    words = set()
    while word := args.accept(b"NX", b"XX", b"CH"):
        words.add(word)
    rest = args.rest()
    if not rest or len(rest) % 3 or {b"NX", b"XX"} <= words:
        raise errors.syntax()
    rule = AddRule(only_new=b"NX" in words, only_existing=b"XX" in words)
    added, updated = zsets.add(txn, key, _scored(rest), rule)
    return added + updated if b"CH" in words else added


def _scored(rest: Sequence[bytes]) -> list[tuple[float, bytes]]:
    return [
        (float(geo.encode(geo_options.place(rest[at], rest[at + 1]))), rest[at + 2])
        for at in range(0, len(rest), 3)
    ]


@command("GEODIST key member1 member2 [M|KM|FT|MI]", "readonly", since="3.2.0")
def geodist(txn: Txn, key: bytes, member1: bytes, member2: bytes, *words: bytes) -> bytes | None:
    """Return the distance between two members."""
    if len(words) > 1:
        raise errors.syntax()
    unit_m = geo_options.unit(words[0]) if words else 1.0
    one, other = geo_search.places(txn, key, (member1, member2))
    if one is None or other is None:
        return None
    return _distance(geo.distance_m(one, other) / unit_m)


@command("GEOHASH key [member [member ...]]", "readonly", since="3.2.0")
def geohash(txn: Txn, key: bytes, *members: bytes) -> list[bytes | None]:
    """Return the places of members as geohashes of eleven letters."""
    scores = zsets.scores(txn, key, members)
    return [None if score is None else geo.name(score) for score in scores]


@command("GEOPOS key [member [member ...]]", "readonly", since="3.2.0")
def geopos(txn: Txn, key: bytes, *members: bytes) -> list[Reply]:
    """Return longitude and latitude of members."""
    places = geo_search.places(txn, key, members)
    return [NULL_ARRAY if place is None else _coordinates(place) for place in places]


@command(
    "GEOSEARCH key <FROMMEMBER member|FROMLONLAT longitude latitude>"
    " <BYRADIUS radius unit|BYBOX width height unit> " + _OPTIONS,
    "readonly",
    keys=(1, 1, 1),
    arity=-7,
    since="6.2.0",
)
def geosearch(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return the members within a circle or a box."""
    return _run(txn, key, words, SearchOptions(), "geosearch")


@command(
    "GEOSEARCHSTORE destination source <FROMMEMBER member|FROMLONLAT longitude latitude>"
    " <BYRADIUS radius unit|BYBOX width height unit> [COUNT count [ANY]] [ASC|DESC] [STOREDIST]",
    "write denyoom",
    keys=(1, 2, 1),
    arity=-8,
    key_flags="OW update, RO access",
    since="6.2.0",
)
def geosearchstore(txn: Txn, destination: bytes, source: bytes, *words: bytes) -> Reply:
    """Store the members within a circle or a box."""
    return _run(txn, source, words, SearchOptions(target=destination), "geosearchstore")


def _searched_and_stored(start: int) -> tuple[KeySpec, ...]:
    """The key that is searched, and those of STORE and STOREDIST, looked for from `start`."""
    stored = (KeySpec(("OW", "update"), start, keyword=word) for word in ("STORE", "STOREDIST"))
    return (KeySpec(("RO", "access"), 1), *stored)


@command(
    f"GEORADIUS key longitude latitude radius <M|KM|FT|MI> {_OPTIONS} {_STORE}",
    "write denyoom movablekeys",
    keys=(1, 1, 1),
    key_finder=partial(geo_options.stored_keys, 6),
    key_specs=_searched_and_stored(6),
    since="3.2.0",
)
def georadius(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return or store the members within a distance of a place."""
    return _around_place(txn, key, words, "georadius")


@command(
    f"GEORADIUS_RO key longitude latitude radius <M|KM|FT|MI> {_OPTIONS}",
    "readonly",
    keys=(1, 1, 1),
    since="3.2.10",
)
def georadius_ro(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return the members within a distance of a place."""
    return _around_place(txn, key, words, "georadius_ro")


@command(
    f"GEORADIUSBYMEMBER key member radius <M|KM|FT|MI> {_OPTIONS} {_STORE}",
    "write denyoom movablekeys",
    keys=(1, 1, 1),
    key_finder=partial(geo_options.stored_keys, 5),
    key_specs=_searched_and_stored(5),
    since="3.2.0",
)
def georadiusbymember(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return or store the members within a distance of a member."""
    return _around_member(txn, key, words, "georadiusbymember")


@command(
    f"GEORADIUSBYMEMBER_RO key member radius <M|KM|FT|MI> {_OPTIONS}",
    "readonly",
    keys=(1, 1, 1),
    since="3.2.10",
)
def georadiusbymember_ro(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return the members within a distance of a member."""
    return _around_member(txn, key, words, "georadiusbymember_ro")


def _around_place(txn: Txn, key: bytes, words: Sequence[bytes], name: str) -> Reply:
    geo_search.open_map(txn, key)
    centre = geo_options.place(words[0], words[1])
    shape = geo_options.circle(Args(words[2:4]))
    return _run(txn, key, words[4:], SearchOptions(shape, centre), name)


def _around_member(txn: Txn, key: bytes, words: Sequence[bytes], name: str) -> Reply:
    centre = geo_options.member_place(txn, key, words[0])
    distance: Sequence[bytes] = words[1:3]
    if geo_search.open_map(txn, key) is None:
        distance = (b"0", b"m")  # Redis does not read it then
    shape = geo_options.circle(Args(distance))
    return _run(txn, key, words[3:], SearchOptions(shape, centre), name)


def _run(txn: Txn, key: bytes, words: Sequence[bytes], options: SearchOptions, name: str) -> Reply:
    meta = geo_search.open_map(txn, key)
    if meta is None:
        txn.missed(key)
    search = geo_options.read_options(txn, key, words, options, name)
    if options.target is not None:
        event = "geosearchstore" if name == "geosearchstore" else "georadiusstore"
        return geo_search.store(
            txn, options.target, meta, search, event, by_distance=options.by_distance
        )
    if meta is None:
        return []
    found = geo_search.search(txn, meta, search)
    return listing(txn, list, len(found), _shown(found, options.shown, search.shape.unit_m))


def _shown(found: list[Found], shown: set[bytes], unit_m: float) -> Iterator[Reply]:
    for distance_m, member, score in found:
        if not shown:
            yield member
            continue
        parts: list[Reply] = [member]
        if b"WITHDIST" in shown:
            parts.append(_distance(distance_m / unit_m))
        if b"WITHHASH" in shown:
            parts.append(int(score))
        if b"WITHCOORD" in shown:
            parts.append(_coordinates(geo.decode(score)))
        yield parts


def _distance(distance: float) -> bytes:
    """Four decimals, by rounding ten thousandths to even."""
    whole, part = divmod(round(distance * 10_000), 10_000)
    return b"%d.%04d" % (whole, part)


def _coordinates(place: geo.Place) -> list[Reply]:
    return [_degrees(place.longitude), _degrees(place.latitude)]


def _degrees(number: float) -> Digits:
    text = (b"%.17f" % number).rstrip(b"0").rstrip(b".")
    return Digits(b"0" if text == b"-0" else text)
