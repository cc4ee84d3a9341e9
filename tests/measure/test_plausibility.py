"""Times that a machine can have, and those that it cannot."""

from __future__ import annotations

import pytest

from metalbench.devices import find_kind
from metalbench.measure.analysis import FASTER_LOADS, implausible, throughput
from metalbench.measure.device_limits import Ceiling
from metalbench.stats import Interval

CEILING = Ceiling(gflops=100.0, gbytes_per_s=200.0)


def judged(flops, nbytes, time_ns, high=None, kind="cpu"):
    time = Interval(time_ns, 0.9 * time_ns, high or 1.1 * time_ns)
    return implausible(time, throughput(time, flops, nbytes), CEILING, kind)


@pytest.mark.parametrize("kind", ["cpu", "metal"])
def test_plausibility_accepts_a_good_kernel(kind):
    assert judged(2e9, 1e6, 2e9 / 100, kind=kind) == ""
    assert judged(1e6, 4e6, 4e6 / 200, kind=kind) == ""
    assert judged(2e9, 1e6, 2e9 / (100 * find_kind(kind).faster_arithmetic), kind=kind) == ""


def test_plausibility_reports_claimed_and_peak_arithmetic():
    message = judged(2e9, 1e6, 1000.0, high=2000.0)
    assert message.startswith("expected at most 800 GFLOP/s, 8 times what multiply-adds reach")
    assert "got 1e+06 GFLOP/s (a pass in 2e+03 ns)" in message
    assert "`flops`" in message


def test_loads_beyond_the_nearest_cache_are_implausible():
    message = judged(1.0, 4e6, 4e6 / (2 * FASTER_LOADS * 200))
    assert "expected at most 800 GB/s, 4 times what loads reach" in message
    assert "`bytes`" in message


def test_plausibility_uses_the_upper_end_of_the_interval():
    assert judged(2e9, 1e6, 1000.0, high=2e7) == ""
