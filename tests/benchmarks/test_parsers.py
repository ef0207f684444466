"""What other programs print, as this one reads it."""

import math
import os

import pytest

from benchmarks import metrics, procfs, redisbench
from benchmarks.sample import Unavailable
from benchmarks.servers import peer

REPORT = """====== LPUSH (needed to benchmark LRANGE) ======
Latency by percentile distribution:
50.000% <= 9.000 milliseconds (cumulative count 5)

Cumulative distribution of latencies:
99.999% <= 9.000 milliseconds (cumulative count 5)

Summary:
  throughput summary: 1.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        9.000     9.000     9.000     9.000     9.000     9.000

====== LRANGE_100 (first 100 elements) ======
Latency by percentile distribution:
50.000% <= 0.727 milliseconds (cumulative count 50)
99.805% <= 1.400 milliseconds (cumulative count 99)
99.902% <= 1.503 milliseconds (cumulative count 99)
100.000% <= 1.551 milliseconds (cumulative count 100)

Cumulative distribution of latencies:
99.950% <= 7.000 milliseconds (cumulative count 100)

Summary:
  throughput summary: 35714.29 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.760     0.304     0.727     1.047     1.375     1.551
"""


def test_the_last_report_of_redis_benchmark_counts() -> None:
    assert redisbench.parse_report(REPORT) == {
        "throughput": 35714.29,
        "p50_ms": 0.727,
        "p99_ms": 1.375,
        "p999_ms": 1.503,
        "max_ms": 1.551,
    }


def test_output_without_a_summary_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="no summary"):
        redisbench.parse_report("ERR unknown command")


def test_one_key_is_asked_for_without_the_random_option() -> None:
    plan = redisbench.Plan("set", 10)
    assert "-r" not in plan.argv("127.0.0.1", 1)
    assert redisbench.Plan("set", 10, random_keys=5).argv("h", 1)[-2:] == ["-r", "5"]


def test_cpu_time_is_found_behind_a_name_with_brackets() -> None:
    stat = "12 (odd) name) S " + " ".join(str(n) for n in range(1, 40))
    assert procfs.parse_cpu_s(stat) == (11 + 12) / procfs.TICKS_PER_SECOND


def test_memory_is_read_in_megabytes() -> None:
    status = "Name:\tx\nVmHWM:\t  4096 kB\nVmRSS:\t  2048 kB\nRssAnon:\t  1024 kB\n"
    assert procfs.parse_memory_mb(status) == {"peak_rss_mb": 4, "rss_mb": 2, "anon_mb": 1}


def test_what_was_written_is_read_in_megabytes() -> None:
    assert procfs.parse_written_mb("rchar: 1\nwchar: 2\nwrite_bytes: 3145728\n") == 3
    assert procfs.written_mb(None) is None


def test_our_own_process_has_memory_and_a_process_that_is_gone_has_none() -> None:
    assert procfs.memory_mb(os.getpid())["rss_mb"] > 1
    assert procfs.memory_mb(2**22 + 1) == {}
    assert procfs.cpu_s(None) is None


PAGE = """# HELP lag_seconds lag
lag_seconds_bucket{loop="a",le="0.001"} 3.0
lag_seconds_bucket{loop="b",le="0.001"} 4.0
lag_seconds_bucket{loop="a",le="+Inf"} 9.0
lag_seconds_sum 1.5
depth{queue="x"} 2.0
depth{queue="y"} 7.0
"""


def test_buckets_are_summed_over_labels() -> None:
    assert metrics.buckets(PAGE, "lag_seconds") == {0.001: 7.0, math.inf: 9.0}
    assert metrics.buckets(PAGE, "depth") == {}


def test_a_gauge_is_its_highest_label() -> None:
    assert metrics.gauge(PAGE, "depth") == 7.0
    assert metrics.gauge(PAGE, "absent") is None


def test_a_peer_is_named_with_host_and_port() -> None:
    server = peer("kvrocks=localhost:6666")
    assert (server.name, server.host, server.port) == ("kvrocks", "localhost", 6666)
    with pytest.raises(ValueError, match="name=host:port"):
        peer("localhost:6666")


def test_lag_of_a_histogram_is_what_it_counted_since_the_meter_was_made() -> None:
    fast, slow = 'lag_bucket{le="0.001"} %d\n', 'lag_bucket{le="0.1"} %d\n'
    pages = iter([(1000, 1000), (1000, 1010), (1990, 2000), (1990, 2000)])

    def read_page() -> str:
        below, all_ = next(pages)
        return fast % below + slow % all_

    meter = metrics.LagMeter(read_page, "lag")
    assert meter.sample_ms() == pytest.approx(99.9, abs=0.2)
    assert meter.sample_ms() == pytest.approx(1.0, abs=0.01)
    assert meter.p999_ms() == pytest.approx(90.1, abs=0.2)


def test_lag_of_a_gauge_is_the_highest_of_a_few_readings() -> None:
    pages = iter(["", "lag 0.002\n", "lag 0.009\n", "lag 0.001\n", ""])
    meter = metrics.LagMeter(lambda: next(pages), "lag")
    assert [meter.sample_ms() for _ in range(3)] == [2.0, 9.0, 1.0]
    assert meter.p999_ms() == 9.0


def test_a_server_without_the_metric_has_no_lag() -> None:
    meter = metrics.LagMeter(lambda: "", "lag")
    assert meter.sample_ms() is None
    assert meter.p999_ms() is None
