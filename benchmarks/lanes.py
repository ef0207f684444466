"""What a load is: a spec, cut into lanes, one for each connection.

A shape is a function of a `Lane`, the part of a load that one connection sends; it yields steps.
A step is a tuple of encoded commands that belong together and stay on one connection, in order.
Equal specs give equal streams, so every server gets the same load.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Step = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """What to send. `steps` is the total over all connections; `lazy` builds bytes while sending,
    for streams that would not fit in memory."""

    shape: str
    steps: int
    keys: int = 100_000
    value_bytes: int = 64
    connections: int = 50
    pipeline: int = 1
    seed: int = 1
    lazy: bool = False
    key: str = "big"
    first: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    """The part of a spec that one connection sends: its number, its steps, its random source."""

    spec: Spec
    number: int
    steps: int
    rng: random.Random

    def own_range(self) -> range:
        """The element numbers this connection is to write when elements are written once each."""
        first = self.spec.first
        return range(first + self.number, first + self.spec.steps, self.spec.connections)


Shape = Callable[[Lane], Iterator[Step]]


def lanes(spec: Spec) -> list[Lane]:
    """Cut a spec into one lane per connection."""
    share, extra = divmod(spec.steps, spec.connections)
    return [
        Lane(spec, n, share + (n < extra), random.Random(f"{spec.seed}:{n}"))
        for n in range(spec.connections)
    ]
