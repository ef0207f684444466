"""Workloads of the load generator: user shapes, Zipf keys, cold reads, large things, growth."""

from benchmarks import redisbench
from benchmarks.lanes import Spec
from benchmarks.listener import Listener
from benchmarks.redisbench import Plan
from benchmarks.sample import Sample
from benchmarks.servers import Server
from benchmarks.workloads.model import (
    Act,
    Case,
    Measure,
    Options,
    Workload,
    filler,
    flush,
    load,
    shape_case,
    size_name,
)
from examples.momentry.keys import Keys

SHAPE_NAMES = {
    "status-hash": "status_hash",
    "capped-ranking": "capped_ranking",
    "job-hashes": "job_hashes",
}
# Commands of one step of each application, pages and queries included.
APPLICATIONS = {"transcode": 6, "momentry": 25, "shop_index": 6, "flume_metrics": 64}
GROWTH = (10_000, 100_000, 1_000_000, 5_000_000)
HUNDREDTH = 100


def applications(options: Options) -> Workload:
    """The applications under `examples/`, each without and with pipeline."""
    commands = 20_000 if options.short else 60_000
    cases = [
        _application(name, commands * (1 + depth // 8) // per_step, depth, options)
        for name, per_step in APPLICATIONS.items()
        for depth in (1, 16)
    ]
    title = "the applications under examples/, by their own keys and commands"
    return Workload("applications", title, cases, reset=flush)


def _application(name: str, steps: int, depth: int, options: Options) -> Case:
    spec = Spec(name, steps, keys=20_000, pipeline=depth, seed=options.seed + depth)

    def measure(server: Server) -> Sample:
        if name != "momentry":
            return load(server, spec)
        with Listener(server, Keys().progress_pattern()):
            return load(server, spec)

    return Case(f"{name.replace('_', '-')}-p{depth}", measure)


def shapes(options: Options) -> Workload:
    """A status hash, capped rankings and job hashes with TTL, without and with pipeline."""
    steps = 3_000 if options.short else 40_000
    cases = [
        shape_case(f"{name}-p{depth}", _spec(shape, steps * (1 + depth // 8), depth, options))
        for name, shape in SHAPE_NAMES.items()
        for depth in (1, 16)
    ]
    return Workload("shapes", "status hash, capped ranking, job hashes with TTL", cases)


def zipf(options: Options) -> Workload:
    """Nine GETs to one SET with Zipf keys, values of 256 bytes."""
    keys = 50_000 if options.short else 1_000_000
    steps = 15_000 if options.short else 200_000
    cases = [
        shape_case(f"90-10-p{p}", Spec("zipf_90_10", steps * (1 + p // 8), keys, 256, 50, p))
        for p in (1, 16)
    ]
    fill = filler(fill_spec(0, keys, 256))
    return Workload("zipf", f"90 % GET, 10 % SET, Zipf over {keys:,} keys", cases, fill)


def cold(options: Options) -> Workload:
    """GETs of random keys from a store larger than every cache, just restarted."""
    keys = options.elements
    spec = Spec("read_strings", 50_000, keys, connections=50)

    def restart(server: Server) -> None:
        if server.keeps_data:
            server.restart_cold()

    return Workload(
        "cold",
        f"GET of random keys, {keys:,} keys of 1 KB, caches emptied before each round",
        [shape_case("get", spec)],
        prepare=filler(fill_spec(0, keys, 1024)),
        reset=restart,
    )


def large(options: Options) -> Workload:
    """Whole hashes, and ranks, counts and pages deep inside a sorted set of a million."""
    return Workload(
        "large",
        "HGETALL of 100 thousand and a million fields, ranks and counts deep inside a million",
        [
            shape_case("hgetall-100k", Spec("hgetall", 20, connections=1, key="hash100k")),
            shape_case("hgetall-1m", Spec("hgetall", 3, connections=1, key="hash1m")),
            shape_case(
                "zrange-deep-1m", Spec("zrange_deep", 60, 1_000_000, connections=10, key="zset1m")
            ),
            shape_case(
                "zrank-deep-1m", Spec("zrank_deep", 60, 1_000_000, connections=10, key="zset1m")
            ),
            *(_ranks(shape, options) for shape in ("zrank_deep", "zcount_deep", "zrange_page")),
        ],
        prepare=fill_large,
        rounds=3,
    )


def _ranks(shape: str, options: Options) -> Case:
    """Fifty clients at random ranks of a million members."""
    steps = 10_000 if options.short else 50_000
    name = shape.replace("_", "-") + "-c50"
    return shape_case(name, Spec(shape, steps, 1_000_000, connections=50, key="zset1m"))


def fill_large(server: Server) -> None:
    """Two hashes and a sorted set, written a hundred elements per command."""
    for shape, elements, key in (
        ("fill_hash", 100_000, "hash100k"),
        ("fill_hash", 1_000_000, "hash1m"),
        ("fill_zset", 1_000_000, "zset1m"),
    ):
        load(server, collection_spec(shape, elements, key))


def growth(options: Options) -> Workload:
    """SET and GET of random keys as the store grows."""
    cases = []
    for before, count in zip((0, *GROWTH), GROWTH, strict=False):
        grow = filler(fill_spec(before, count, 64))
        cases.append(Case(f"get-{size_name(count)}", _random_test("get", count), grow))
        cases.append(Case(f"set-{size_name(count)}", _random_test("set", count)))
    title = "pipeline 16, 64-byte values, as the number of keys grows"
    return Workload("growth", title, cases, case_major=True)


def fill_spec(first: int, stop: int, value_bytes: int) -> Spec:
    """SET of the keys from `first` to `stop`, each once, at full speed."""
    return Spec(
        "fill_strings",
        steps=stop - first,
        first=first,
        value_bytes=value_bytes,
        connections=8,
        pipeline=64,
        lazy=True,
    )


def collection_spec(shape: str, elements: int, key: str) -> Spec:
    """One collection of `elements` elements, a hundred per command."""
    steps = elements // HUNDREDTH
    return Spec(shape, steps, connections=4, pipeline=4, key=key, lazy=True)


def filled(count: int, value_bytes: int) -> Act:
    """A preparation that writes `count` strings."""
    return filler(fill_spec(0, count, value_bytes))


def _spec(shape: str, steps: int, pipeline: int, options: Options) -> Spec:
    return Spec(shape, steps, keys=20_000, pipeline=pipeline, seed=options.seed)


def _random_test(test: str, keys: int) -> Measure:
    plan = Plan(test, 200_000, 16, random_keys=keys, value_bytes=64)

    def measure(server: Server) -> Sample:
        return redisbench.measure(server, plan)

    return measure
