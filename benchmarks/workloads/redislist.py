"""Workloads that redis-benchmark itself runs: its own list, and random keys."""

from benchmarks import procfs, redisbench
from benchmarks.redisbench import Plan
from benchmarks.sample import Sample
from benchmarks.servers import Server
from benchmarks.workloads.model import Case, Options, Workload, flush, size_name

# In redis-benchmark's order: pops find what the pushes before them left.
FULL_LIST = [
    *("ping_inline", "ping_mbulk", "set", "get", "incr", "lpush", "rpush", "lpop", "rpop"),
    *("sadd", "hset", "spop", "zadd", "zpopmin"),
    *("lrange_100", "lrange_300", "lrange_500", "lrange_600", "mset"),
]
SHORT_LIST = [
    *("ping_mbulk", "set", "get", "incr", "lpush", "sadd", "hset", "zadd", "lrange_100", "mset"),
]
SHORT_REQUESTS = {1: 20_000, 16: 100_000, 100: 100_000}
FULL_REQUESTS = {1: 100_000, 16: 300_000, 100: 500_000}
RANDOM_TESTS = ("set", "get", "hset", "sadd", "zadd")
# Their replies are hundreds of times larger than the others'.
HEAVY = {"lrange_100": 4, "lrange_300": 10, "lrange_500": 20, "lrange_600": 20, "mset": 4}
CASE_NAMES = {"ping_mbulk": "ping"}


def own_list(pipeline: int, options: Options) -> Workload:
    """redis-benchmark's own list at one pipeline depth: one key, values of 3 bytes."""
    tests = SHORT_LIST if options.short else FULL_LIST
    requests = (SHORT_REQUESTS if options.short else FULL_REQUESTS)[pipeline]
    title = "no pipeline" if pipeline == 1 else f"pipeline {pipeline}"
    return Workload(
        name=f"p{pipeline}",
        title=f"redis-benchmark, {title}, one key, 3-byte values",
        cases=[_case(Plan(t, requests // HEAVY.get(t, 1), pipeline)) for t in tests],
        reset=flush,
    )


def random_keys(keys: int, value_bytes: int, options: Options) -> Workload:
    """Random keys at pipeline 16; the first SET round fills what the GETs then find."""
    requests = keys if options.short else max(keys, 300_000)
    plans = [
        Plan(test, requests, 16, random_keys=keys, value_bytes=value_bytes) for test in RANDOM_TESTS
    ]
    return Workload(
        name=f"random-{size_name(keys)}-{value_bytes}",
        title=f"redis-benchmark, pipeline 16, {keys:,} random keys, {value_bytes}-byte values",
        cases=[_case(plan) for plan in plans],
    )


def beyond_caches(keys: int, value_bytes: int, options: Options) -> Workload:
    """SET, GET and SET again of random keys whose values no cache holds; on fresh servers, once."""
    requests = keys // 10 if options.short else keys
    writes = Plan("set", requests, 16, random_keys=keys, value_bytes=value_bytes)
    reads = Plan("get", requests, 16, random_keys=keys, value_bytes=value_bytes)
    return Workload(
        name=f"beyond-{size_name(keys)}-{value_bytes}",
        title=f"redis-benchmark, pipeline 16, {keys:,} random keys of {value_bytes} bytes, no round"
        " but the first",
        cases=[
            Case("set", lambda server: _weighed(server, writes)),
            _case(reads),
            Case("set-again", lambda server: _weighed(server, writes)),
        ],
        rounds=1,
    )


def _weighed(server: Server, plan: Plan) -> Sample:
    """A run with what it wrote to the disk, and what lies there after it, by byte of values."""
    before = procfs.written_mb(server.pid)
    sample = redisbench.measure(server, plan)
    after = procfs.written_mb(server.pid)
    with server.client() as client:
        keys = client.call("DBSIZE")
    if before is not None and after is not None and server.keeps_data:
        user_mb = plan.value_bytes / 2**20
        sample["written_per_byte"] = (after - before) / (plan.requests * user_mb)
        sample["disk_per_byte"] = server.disk_mb() / (int(str(keys)) * user_mb)
    return sample


def _case(plan: Plan) -> Case:
    def measure(server: Server) -> Sample:
        return redisbench.measure(server, plan)

    return Case(CASE_NAMES.get(plan.test, plan.test), measure)
