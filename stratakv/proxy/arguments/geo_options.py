"""What the search commands of GEO share: reading centre, shape and options as Redis does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.types.geo import geo_search
from stratakv.encodings.types.geo.geo import Box, Circle, Place, Shape, is_on_map
from stratakv.encodings.types.geo.geo_search import Search
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, real

_UNITS_M: Final = {b"M": 1.0, b"KM": 1000.0, b"FT": 0.3048, b"MI": 1609.34}
_SHOWN: Final = (b"WITHDIST", b"WITHHASH", b"WITHCOORD")
_NOWHERE: Final = Place(0.0, 0.0)
"""The centre when the key is not there: it is found wanting only after all options are read."""


def unit(text: bytes) -> float:
    """How many metres a unit has."""
    metres = _UNITS_M.get(text.upper())
    if metres is None:
        raise CommandError(errors.GEO_UNIT)
    return metres


def place(longitude: bytes, latitude: bytes) -> Place:
    """Two coordinates of a place on the map."""
    found = Place(real(longitude), real(latitude))
    if not is_on_map(found):
        raise CommandError(b"ERR invalid longitude,latitude pair %f,%f" % found)
    return found


def circle(args: Args) -> Callable[[Place], Shape]:
    """Take a radius and its unit."""
    radius = args.real(errors.GEO_RADIUS)
    if radius < 0:
        raise CommandError(errors.GEO_NEGATIVE_RADIUS)
    unit_m = unit(args.take())
    return lambda centre: Circle(centre, radius, unit_m)


def box(args: Args) -> Callable[[Place], Shape]:
    """Take width, height and their unit."""
    width, height = args.real(errors.GEO_WIDTH), args.real(errors.GEO_HEIGHT)
    if width < 0 or height < 0:
        raise CommandError(errors.GEO_NEGATIVE_BOX)
    unit_m = unit(args.take())
    return lambda centre: Box(centre, width, height, unit_m)


def member_place(txn: Txn, key: bytes, member: bytes) -> Place:
    """Where a member is; anywhere if there is no key."""
    if geo_search.open_map(txn, key) is None:
        return _NOWHERE
    found = geo_search.places(txn, key, (member,))[0]
    if found is None:
        raise CommandError(errors.GEO_NO_MEMBER)
    return found


@dataclass(slots=True)
class SearchOptions:
    """What a search command asks for. Call `search` when all is read."""

    shape: Callable[[Place], Shape] | None = None
    centre: Place | None = None
    shown: set[bytes] = field(default_factory=set)
    order: int = 0
    count: int = 0
    any_will_do: bool = False
    target: bytes | None = None
    by_distance: bool = False
    from_member: bool = False
    by_box: bool = False

    def search(self, name: str) -> Search:
        """The search; refuses what does not fit together."""
        if self.target is not None and self.shown:
            option = "GEOSEARCHSTORE" if name == "geosearchstore" else "STORE option in GEORADIUS"
            raise errors.geo_store_shows(option)
        if self.centre is None:
            raise errors.geo_needs_one("FROMMEMBER or FROMLONLAT", name)
        if self.shape is None:
            raise errors.geo_needs_one("BYRADIUS and BYBOX", name)
        if self.any_will_do and not self.count:
            raise CommandError(errors.GEO_ANY)
        order = self.order or int(bool(self.count) and not self.any_will_do)
        return Search(self.shape(self.centre), order, self.count or UNLIMITED, self.any_will_do)


def read_options(
    txn: Txn, key: bytes, words: Sequence[bytes], options: SearchOptions, name: str
) -> Search:
    """Read the options of GEOSEARCH, GEORADIUS or one of their kind."""
    args = Args(words)
    while args:
        word = args.option()
        if word in _SHOWN:
            options.shown.add(word)
        elif word in (b"ASC", b"DESC"):
            options.order = 1 if word == b"ASC" else -1
        elif word == b"ANY":
            options.any_will_do = True
        elif word == b"COUNT" and args:
            options.count = _count(args)
        elif name.startswith("geosearch"):
            _geosearch_option(txn, key, word, args, options)
        else:
            _georadius_option(word, args, options, stores=not name.endswith("_ro"))
    return options.search(name)


def _count(args: Args) -> int:
    count = args.integer()
    if count <= 0:
        raise CommandError(errors.GEO_COUNT)
    return count


def _georadius_option(word: bytes, args: Args, options: SearchOptions, *, stores: bool) -> None:
    if word not in (b"STORE", b"STOREDIST") or not args or not stores:
        raise errors.syntax()
    options.target = args.take()
    options.by_distance = word == b"STOREDIST"


def _geosearch_option(
    txn: Txn, key: bytes, word: bytes, args: Args, options: SearchOptions
) -> None:
    from_place = options.centre is not None and not options.from_member
    by_radius = options.shape is not None and not options.by_box
    if word == b"STOREDIST" and options.target is not None:
        options.by_distance = True
    elif word == b"FROMMEMBER" and args and not from_place:
        options.centre = member_place(txn, key, args.take())
        options.from_member = True
    elif word == b"FROMLONLAT" and len(args) >= 2 and not options.from_member:
        options.centre = place(args.take(), args.take())
    elif word == b"BYRADIUS" and len(args) >= 2 and not options.by_box:
        options.shape = circle(args)
    elif word == b"BYBOX" and len(args) >= 3 and not by_radius:
        options.shape = box(args)
        options.by_box = True
    else:
        raise errors.syntax()


def stored_keys(start: int, request: Sequence[bytes]) -> list[bytes]:
    """The keys of GEORADIUS: the source, the first of STORE, the first of STOREDIST.

    Whatever is named last is among them, since that is where the result goes.
    """
    named: dict[bytes, bytes] = {}
    last: list[bytes] = []
    for word, key in zip(request[start:], request[start + 1 :], strict=False):
        if word.upper() in (b"STORE", b"STOREDIST"):
            named.setdefault(word.upper(), key)
            last = [key]
    keys = [request[1], *(named[word] for word in sorted(named))]
    return keys if not last or last[0] in keys else keys + last
