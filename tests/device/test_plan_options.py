"""Time limits and the options of a plan: what makes no sense is refused before anything runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metalbench import _core


@pytest.fixture
def launch(compile_kernel):
    pipeline = compile_kernel("kernel void f(device float* x) { x[0] = 1; }")
    return _core.Dispatch(pipeline, {"x": np.zeros(4, np.float32)}, threadgroups=1, threads=1)


@pytest.mark.parametrize("limit", [math.nan, 0, -1.0, -math.inf])
def test_a_time_limit_is_above_zero(device, launch, limit):
    with pytest.raises(_core.DispatchError, match="time_limit: expected seconds above 0, got"):
        device.run([launch], time_limit=limit)


def test_time_limits_may_be_endless_or_of_numpy(device, launch):
    device.run([launch], time_limit=math.inf)
    device.run([launch], time_limit=np.float32(5))
    device.run([launch], time_limit=np.int64(5))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"max_pairs": -1}, "max_pairs: expected a count of 0 or more, got int -1"),
        ({"max_pairs": 2.0}, "max_pairs: expected a count of 0 or more, got float 2.0"),
        ({"max_pairs": 2**32}, "max_pairs: expected a count of 0 or more"),
        ({"seed": "1"}, "seed: expected a count of 0 or more, got str '1'"),
        ({"window_ns": math.nan}, "window_ns: expected a number of 0 or more, got float nan"),
        ({"time_limit_ns": math.inf}, "time_limit_ns: expected a number of 0 or more"),
        ({"warmup_ns": None}, "warmup_ns: expected a number of 0 or more, got NoneType None"),
        ({"maxpairs": 3}, "no option maxpairs; did you mean `max_pairs`"),
        ({"zzzzzz": 3}, "no option zzzzzz; expected one of best_probe_ns"),
        ({"kernel_time_limit": math.nan}, "time_limit: expected seconds above 0"),
    ],
)
def test_invalid_options_of_a_plan_are_refused(device, launch, option, message):
    with pytest.raises(_core.DispatchError, match=message):
        device.sample([launch], **option)


def test_options_of_a_plan_may_be_of_numpy(device, launch):
    samples = device.sample(
        [launch], max_pairs=np.int64(2), min_pairs=np.uint8(2), warmup_ns=np.float32(0), window_ns=1
    )
    assert samples.candidate_ns.size == 2
