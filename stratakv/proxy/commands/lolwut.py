"""LOLWUT's picture: layers of rock, laid down one upon another, folded, and cut by a fault."""

import math
import random

_ROCKS = ("░", "▒", "▓", "≈", "∴", "─", "╌", "·", "▚", "┈")


def strata(*, width: int, height: int, seed: int) -> str:
    """Lines of a cross-section through the ground; the same seed gives the same ground."""
    chance = random.Random(seed)
    layers = _layers(chance, height * 3)
    waves = [(chance.uniform(0.5, height / 6 + 1), chance.uniform(12, 60), chance.random() * 6.3)]
    waves += [(chance.uniform(0.2, 0.9), chance.uniform(4, 11), chance.random() * 6.3)]
    fault, throw = chance.randrange(width) if width > 8 else width, chance.randrange(1, 4)
    tilt = chance.uniform(-0.4, 0.4)
    surface = [_surface(x, waves, height) for x in range(width)]
    lines = []
    for y in range(height):
        line = ""
        for x in range(width):
            depth = y - surface[x]
            slipped = throw if x + tilt * y > fault else 0
            line += _rock(layers, depth, _fold(x, waves) + slipped) if depth >= 0 else _sky(chance)
        lines.append(line.rstrip())
    return "\n".join(lines).strip("\n")


def _layers(chance: random.Random, count: int) -> list[str]:
    """Rock by depth: each kind some rows thick, never twice the same in a row."""
    found: list[str] = []
    while len(found) < count + 40:
        rock = chance.choice([kind for kind in _ROCKS if not found or kind != found[-1]])
        found += [rock] * chance.choice((1, 1, 2, 2, 3, 4))
    return found


def _fold(x: int, waves: list[tuple[float, float, float]]) -> float:
    return sum(height * math.sin(x / length * 6.283 + at) for height, length, at in waves)


def _surface(x: int, waves: list[tuple[float, float, float]], height: int) -> int:
    """Where the ground begins: folds wear off, so it is flatter than what lies below."""
    return max(0, round(height / 7 - _fold(x, waves) / 2.5))


def _rock(layers: list[str], depth: float, bend: float) -> str:
    return layers[max(0, int(depth + bend + 20)) % len(layers)]


def _sky(chance: random.Random) -> str:
    return "∙" if chance.random() < 0.01 else " "
