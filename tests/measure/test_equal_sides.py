"""One thing timed against itself, by a clock that the test moves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scripted_device import ScriptedDevice

from metalbench.measure.measurement import Plan
from metalbench.measure.sampling import Sides, measure
from metalbench.stats import Verdict

PLAN = Plan(seconds=0.5, warmup_ns=5_000_000, max_pairs=256)


class Settling:
    """Work that takes longer at first; a call has a fixed cost, and times scatter."""

    def __init__(self, device, *, seed, first, calls, call_ns):
        self.device, self.random = device, np.random.default_rng(seed)
        self.first, self.calls, self.call_ns, self.count = first, calls, call_ns, 0

    def __call__(self, passes):
        slower = 1 + self.first * math.exp(-self.count / self.calls)
        self.count += 1
        taken = (passes * 2e4 * slower + self.call_ns) * self.random.lognormal(0, 0.01)
        self.device.now += taken
        return taken


def timed(*, alike, seed=0, first=4.0, calls=8.0, call_ns=2e5):
    device = ScriptedDevice(own_clock=False)
    work = Settling(device, seed=seed, first=first, calls=calls, call_ns=call_ns)
    return measure(device, Sides(work, work, alike=alike), PLAN, clock=device.clock)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("first", [0.0, 1.0, 4.0, 20.0])
def test_a_kernel_that_becomes_faster_is_the_same_as_itself(seed, first):
    measured = timed(alike=True, seed=seed, first=first)
    assert measured.samples.candidate_window == measured.samples.reference_window
    assert measured.verdict not in (Verdict.FASTER, Verdict.SLOWER)
    assert measured.ratio.value == pytest.approx(1, abs=0.01)


def test_separate_window_lengths_would_favour_one_side():
    measured = timed(alike=False, first=20.0, calls=30.0)
    assert measured.samples.candidate_window != measured.samples.reference_window
    assert abs(measured.ratio.value - 1) > 0.01
