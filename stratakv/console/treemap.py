"""Areas in the size of numbers: squarified treemaps."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """Where the number at `index` is drawn."""

    index: int
    x: float
    y: float
    width: float
    height: float


def tiles(numbers: Sequence[float], width: float, height: float) -> list[Tile]:
    """Tiles that fill a rectangle; the greatest first, each as square as can be."""
    order = sorted((i for i, one in enumerate(numbers) if one > 0), key=lambda i: -numbers[i])
    total = sum(numbers[i] for i in order)
    if not total:
        return []
    areas = [numbers[i] / total * width * height for i in order]
    placed: list[Tile] = []
    x = y = 0.0
    at = 0
    while at < len(order):
        side = min(width, height)
        end = _row(areas, at, side)
        depth = sum(areas[at:end]) / side
        along = 0.0
        for number in range(at, end):
            length = areas[number] / depth
            if width >= height:
                placed.append(Tile(order[number], x, y + along, depth, length))
            else:
                placed.append(Tile(order[number], x + along, y, length, depth))
            along += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
        at = end
    return placed


def _row(areas: Sequence[float], at: int, side: float) -> int:
    """The end of the row that begins at `at`: it grows while its worst tile gets squarer."""
    end, best = at + 1, _worst(areas[at : at + 1], side)
    while end < len(areas):
        worse = _worst(areas[at : end + 1], side)
        if worse > best:
            break
        end, best = end + 1, worse
    return end


def _worst(row: Sequence[float], side: float) -> float:
    depth = sum(row) / side
    return max(max(depth * depth / area, area / (depth * depth)) for area in row)
