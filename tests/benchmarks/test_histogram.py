import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.histogram import Histogram, bucket_of, bucket_quantile, middle_of


@given(st.integers(0, 10**9))
def test_a_bucket_answers_its_values_within_one_percent(value_us: int) -> None:
    assert middle_of(bucket_of(value_us)) == pytest.approx(value_us, rel=0.01)


@given(st.integers(0, 10**9))
def test_bucket_numbers_rise_with_values(value_us: int) -> None:
    assert bucket_of(value_us) <= bucket_of(value_us + 1) <= bucket_of(value_us) + 1


def test_percentiles_of_known_values() -> None:
    histogram = Histogram()
    for value in range(1, 101):
        histogram.record(value)
    assert histogram.percentile_us(50) == 50
    assert histogram.percentile_us(99) == 99
    assert histogram.percentile_us(100) == 100


def test_one_slow_value_of_a_thousand_is_the_maximum_and_not_p99() -> None:
    histogram = Histogram()
    histogram.record(100, times=999)
    histogram.record(5_000_000)
    assert histogram.summary_ms() == {
        "p50_ms": 0.1,
        "p99_ms": 0.1,
        "p999_ms": 0.1,
        "max_ms": 5000.0,
    }


def test_merged_histograms_count_together() -> None:
    one, other = Histogram(), Histogram()
    one.record(10)
    other.record(30, times=3)
    one.merge(other)
    assert (one.total, one.max_us, one.percentile_us(50)) == (4, 30, 30)


def test_an_empty_histogram_answers_zero() -> None:
    assert Histogram().percentile_us(99) == 0


def test_a_quantile_of_prometheus_buckets_is_interpolated() -> None:
    assert bucket_quantile({0.001: 50, 0.002: 100, math.inf: 100}, 0.75) == pytest.approx(0.0015)


def test_a_quantile_beyond_the_last_bound_is_that_bound() -> None:
    assert bucket_quantile({0.001: 50, math.inf: 100}, 0.999) == 0.001


def test_buckets_without_counts_answer_zero() -> None:
    assert bucket_quantile({0.001: 0, math.inf: 0}, 0.5) == 0
    assert bucket_quantile({}, 0.5) == 0
