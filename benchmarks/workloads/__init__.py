"""The catalogue of workloads by name, and which of them each suite runs."""

from collections.abc import Callable

from benchmarks.workloads import endurance, fairness, huge, redislist, shaped
from benchmarks.workloads.model import Case, Options, Workload

__all__ = ["CATALOGUE", "SUITES", "Case", "Options", "Workload", "select"]

CATALOGUE: dict[str, Callable[[Options], Workload]] = {
    "p1": lambda options: redislist.own_list(1, options),
    "p16": lambda options: redislist.own_list(16, options),
    "p100": lambda options: redislist.own_list(100, options),
    "random-100k-64": lambda options: redislist.random_keys(100_000, 64, options),
    "random-100k-1024": lambda options: redislist.random_keys(100_000, 1024, options),
    "random-1m-64": lambda options: redislist.random_keys(1_000_000, 64, options),
    "random-1m-1024": lambda options: redislist.random_keys(1_000_000, 1024, options),
    "beyond-2m-512": lambda options: redislist.beyond_caches(2_000_000, 512, options),
    "applications": shaped.applications,
    "shapes": shaped.shapes,
    "zipf": shaped.zipf,
    "cold": shaped.cold,
    "large": shaped.large,
    "growth": shaped.growth,
    "fairness": fairness.fairness,
    "huge": huge.huge,
    "memory": endurance.memory,
    "startup": endurance.startup,
    "sustained": endurance.sustained,
}

SUITES = {
    "short": ("p1", "p16", "random-100k-64", "applications", "zipf", "startup"),
    "full": tuple(CATALOGUE),
}


def select(suite: str, only: list[str], options: Options) -> list[Workload]:
    """The workloads of a suite, or those named in `only`; ValueError on an unknown name."""
    for name in only:
        if name not in CATALOGUE:
            raise ValueError(f"unknown workload {name!r}; there are {', '.join(CATALOGUE)}")
    return [CATALOGUE[name](options) for name in only or SUITES[suite]]
