"""Places as scores: the 52-bit geohash of Redis, distances, and the score ranges of an area.

    score = f64 of a 52-bit integer: the bits of 26-bit latitude (even) and longitude (odd) in turn

A cell is a square of the map at some step: all scores that begin with its 2 * step bits. A search
looks into the cell of its centre and into those of the eight neighbours that it needs, in the order
in which Redis does, since replies that are not sorted show that order.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

LONGITUDE_LIMIT: Final = 180.0
LATITUDE_LIMIT: Final = 85.05112878
_POLE: Final = 90.0
_STEPS: Final = 26
_EARTH_RADIUS_M: Final = 6372797.560856
_MERCATOR_MAX: Final = 20037726.37
_RADIANS: Final = math.pi / 180.0
_ALPHABET: Final = b"0123456789bcdefghjkmnpqrstuvwxyz"
_EVEN: Final = 0x5555555555555555
_ODD: Final = 0xAAAAAAAAAAAAAAAA

_HEX: Final = b"0123456789abcdef"
_EVEN_DIGITS: Final = bytes(
    _HEX[byte & 1 | byte >> 1 & 2 | byte >> 2 & 4 | byte >> 3 & 8] for byte in range(256)
)
_ODD_DIGITS: Final = bytes(_EVEN_DIGITS[byte >> 1] for byte in range(256))
_SPREAD: Final = bytes(
    next((byte for byte in range(0x56) if not byte & 0xAA and _EVEN_DIGITS[byte] == digit), 0)
    for digit in range(256)
)
"""From a byte to the hex digit of its even or odd bits, and from a hex digit to even bits: bits are
dealt out by translation of bytes, in 0.6 us where shifts and masks take 2."""


class Place(NamedTuple):
    """A point of the map in degrees."""

    longitude: float
    latitude: float


def is_on_map(place: Place) -> bool:
    """Whether a place can be encoded: the poles cannot."""
    return abs(place.longitude) <= LONGITUDE_LIMIT and abs(place.latitude) <= LATITUDE_LIMIT


# scores


def encode(place: Place, step: int = _STEPS, latitude_limit: float = LATITUDE_LIMIT) -> int:
    """The bits of a place. Requires: it is on the map."""
    latitude = (place.latitude + latitude_limit) / (latitude_limit + latitude_limit)
    longitude = (place.longitude + LONGITUDE_LIMIT) / (LONGITUDE_LIMIT + LONGITUDE_LIMIT)
    scale = 1 << step
    return _spread(int(latitude * scale)) | _spread(int(longitude * scale)) << 1


def decode(score: float) -> Place:
    """The middle of the place that a score stands for; any score stands for one."""
    west, south, east, north = _edges(_as_bits(score), _STEPS)
    return Place(
        _clamp((west + east) / 2, LONGITUDE_LIMIT), _clamp((south + north) / 2, LATITUDE_LIMIT)
    )


def name(score: float) -> bytes:
    """The geohash of eleven letters that other systems use; its last letter is always 0."""
    bits = encode(decode(score), _STEPS, _POLE)
    letters = [_ALPHABET[bits >> shift & 31] for shift in range(47, 1, -5)]
    return bytes((*letters, _ALPHABET[0]))


def _spread(number: int) -> int:
    """The lowest 32 bits of a number at the even places of 64."""
    return int.from_bytes((b"%08x" % (number & 0xFFFFFFFF)).translate(_SPREAD), "big")


def _as_bits(score: float) -> int:
    """A double as C makes it an unsigned integer of 64 bits."""
    if not -(2.0**63) <= score < 2.0**64:
        return 1 << 63 if score < 0 else 0
    return int(score) & 0xFFFFFFFFFFFFFFFF


def _edges(bits: int, step: int) -> tuple[float, float, float, float]:
    """(west, south, east, north) of a cell."""
    raw = bits.to_bytes(8, "big")
    latitude, longitude = int(raw.translate(_EVEN_DIGITS), 16), int(raw.translate(_ODD_DIGITS), 16)
    scale = 1 << step
    height, width = LATITUDE_LIMIT + LATITUDE_LIMIT, LONGITUDE_LIMIT + LONGITUDE_LIMIT
    return (
        -LONGITUDE_LIMIT + (longitude / scale) * width,
        -LATITUDE_LIMIT + (latitude / scale) * height,
        -LONGITUDE_LIMIT + ((longitude + 1 & 0xFFFFFFFF) / scale) * width,
        -LATITUDE_LIMIT + ((latitude + 1 & 0xFFFFFFFF) / scale) * height,
    )


def _clamp(degrees: float, limit: float) -> float:
    return max(-limit, min(limit, degrees))


# distances


def distance_m(one: Place, other: Place) -> float:
    """Metres between two places, on a sphere."""
    v = math.sin((other.longitude * _RADIANS - one.longitude * _RADIANS) / 2)
    if v == 0.0:
        return _north_south_m(one, other)
    first, second = one.latitude * _RADIANS, other.latitude * _RADIANS
    u = math.sin((second - first) / 2)
    a = u * u + math.cos(first) * math.cos(second) * v * v
    return 2.0 * _EARTH_RADIUS_M * math.asin(math.sqrt(min(a, 1.0)))


def _north_south_m(one: Place, other: Place) -> float:
    return _EARTH_RADIUS_M * abs(other.latitude * _RADIANS - one.latitude * _RADIANS)


@dataclass(frozen=True, slots=True)
class Circle:
    """All places within a distance of the centre; `unit_m` is a unit's length in metres."""

    centre: Place
    radius: float
    unit_m: float

    def distance_within(self, place: Place) -> float | None:
        """How many metres a place is from the centre; None if it is outside."""
        distance = distance_m(self.centre, place)
        return None if distance > self.radius * self.unit_m else distance

    @property
    def half_m(self) -> tuple[float, float]:
        """(width, height) from the centre to the sides."""
        return self.unit_m * self.radius, self.unit_m * self.radius

    @property
    def reach_m(self) -> float:
        """How far the furthest place is from the centre."""
        return self.radius * self.unit_m


@dataclass(frozen=True, slots=True)
class Box:
    """All places of a rectangle that is aligned with the map."""

    centre: Place
    width: float
    height: float
    unit_m: float

    def distance_within(self, place: Place) -> float | None:
        """How many metres a place is from the centre; None if it is outside."""
        if _north_south_m(place, self.centre) > self.height * self.unit_m / 2:
            return None
        level = Place(self.centre.longitude, place.latitude)
        if distance_m(place, level) > self.width * self.unit_m / 2:
            return None
        return distance_m(self.centre, place)

    @property
    def half_m(self) -> tuple[float, float]:
        """(width, height) from the centre to the sides."""
        return self.unit_m * (self.width / 2), self.unit_m * (self.height / 2)

    @property
    def reach_m(self) -> float:
        """How far the corners are from the centre."""
        half_width, half_height = self.width / 2, self.height / 2
        return math.sqrt(half_width * half_width + half_height * half_height) * self.unit_m


Shape = Circle | Box


# the cells of a search


def score_ranges(shape: Shape) -> Iterator[tuple[float, float]]:
    """[low, high) of the scores that a search has to look at, in Redis's order."""
    step, cells = _cells(shape)
    shift = 2 * (_STEPS - step)
    last = None
    for number, bits in enumerate(cells):
        if bits is not None and (last is None or bits != last):
            yield float(bits << shift), float(bits + 1 << shift)
            last = bits if number else None


# Where the neighbours lie, as (east, north), in the order of the search.
_NEIGHBOURS: Final = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))


def _cells(shape: Shape) -> tuple[int, list[int | None]]:
    """The step, and the cell of the centre with its neighbours; None for those of no use."""
    west, south, east, north = _bounds(shape)
    step = _estimate_step(shape.reach_m, shape.centre.latitude)
    cells = _around(encode(shape.centre, step), step)
    covered = (
        _edges(cells[4], step)[0] <= west or west != west,
        _edges(cells[2], step)[1] <= south,
        _edges(cells[3], step)[2] >= east or east != east,
        _edges(cells[1], step)[3] >= north,
    )
    if step > 1 and not all(covered):
        step -= 1
        cells = _around(encode(shape.centre, step), step)
    if step < 2:
        return step, list(cells)
    edges = _edges(cells[0], step)
    unused = {(-1, 0): edges[0] < west, (1, 0): edges[2] > east}
    unused.update({(0, -1): edges[1] < south, (0, 1): edges[3] > north})
    return step, [
        None if unused.get((x, 0)) or unused.get((0, y)) else bits
        for (x, y), bits in zip(_NEIGHBOURS, cells, strict=True)
    ]


def _around(bits: int, step: int) -> list[int]:
    """A cell and its neighbours; the map has no edges."""
    return [_moved(bits, step, east, north) for east, north in _NEIGHBOURS]


def _moved(bits: int, step: int, east: int, north: int) -> int:
    """The cell that lies one further; bits of the other coordinate carry the addition over."""
    evens, odds = _EVEN >> (64 - step * 2), _ODD >> (64 - step * 2)
    x, y = bits & _ODD, bits & _EVEN
    if east:
        x = (x + evens + 1 if east > 0 else (x | evens) - evens - 1) & odds
    if north:
        y = (y + odds + 1 if north > 0 else (y | odds) - odds - 1) & evens
    return x | y


def _bounds(shape: Shape) -> tuple[float, float, float, float]:
    """(west, south, east, north) around a shape, where it is widest."""
    longitude, latitude = shape.centre
    width_m, height_m = shape.half_m
    latitude_delta = height_m / _EARTH_RADIUS_M / _RADIANS
    far = latitude - latitude_delta if latitude < 0 else latitude + latitude_delta
    longitude_delta = width_m / _EARTH_RADIUS_M / _cos(far * _RADIANS) / _RADIANS
    return (
        longitude - longitude_delta,
        latitude - latitude_delta,
        longitude + longitude_delta,
        latitude + latitude_delta,
    )


def _cos(angle: float) -> float:
    return math.cos(angle) if math.isfinite(angle) else math.nan


def _estimate_step(reach_m: float, latitude: float) -> int:
    """The step at which nine cells should be enough."""
    if reach_m == 0:
        return _STEPS
    step = -1
    while reach_m < _MERCATOR_MAX:
        reach_m *= 2
        step += 1
    if abs(latitude) > 66:  # cells get narrower towards the poles
        step -= 2 if abs(latitude) > 80 else 1
    return max(1, min(_STEPS, step))
