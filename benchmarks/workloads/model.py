"""What a workload is: named cases, and how the rounds run over them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks import loadgen
from benchmarks.lanes import Spec
from benchmarks.sample import Sample
from benchmarks.servers import Server


@dataclass(frozen=True, slots=True)
class Options:
    """What the user may choose. `short` shrinks requests and case lists of the short suite.

    `elements` is the size of what fairness and memory work on; `keys` that of the start-up's store.
    """

    short: bool = True
    rounds: int = 5
    seed: int = 1
    sustained_bytes: int = 3 * 2**30
    elements: int = 1_000_000
    keys: int = 5_000_000
    lag_metric: str = "stratakv_event_loop_lag_seconds"


Act = Callable[[Server], None]
Measure = Callable[[Server], Sample]


def nothing(server: Server) -> None:
    """The default of every preparation."""


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the results. `prepare` runs once per server before the first measurement."""

    name: str
    measure: Measure
    prepare: Act = nothing


@dataclass(frozen=True, slots=True)
class Workload:
    """Cases that share servers, started fresh for the workload.

    `reset` runs before each round. Rounds go over all cases in turn, so that a noisy moment hits
    one round of several cases; `case_major` finishes a case before the next one, for workloads
    whose store grows from case to case. `rounds` replaces the user's number where more make no
    sense.
    """

    name: str
    title: str
    cases: list[Case]
    prepare: Act = nothing
    reset: Act = nothing
    case_major: bool = False
    rounds: int | None = None
    series: dict[str, list[dict[str, float]]] = field(default_factory=dict)


def size_name(count: int) -> str:
    """A count as it stands in names: 1m, 100k, 2500."""
    for unit, letter in ((1_000_000, "m"), (1000, "k")):
        if count >= unit and count % unit == 0:
            return f"{count // unit}{letter}"
    return str(count)


def flush(server: Server) -> None:
    """Empty the server."""
    with server.client() as client:
        client.call("FLUSHALL")


def load(server: Server, spec: Spec) -> Sample:
    """Send a spec to a server."""
    return loadgen.run(server.host, server.port, spec)


def shape_case(name: str, spec: Spec) -> Case:
    """A case that measures a shape."""
    return Case(name, lambda server: load(server, spec))


def filler(spec: Spec) -> Act:
    """A preparation that loads a spec; the bytes are built while sending."""

    def fill(server: Server) -> None:
        load(server, spec)

    return fill
