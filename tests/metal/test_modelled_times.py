"""The double takes as long as a GPU would: what is set is what a program sees."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

SOURCE = "kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
IN_NS, OUT_NS, GPU_NS = 60e3, 25e3, 400e3


@pytest.fixture
def add(metal: _core.Device) -> _core.Dispatch:
    arguments = {"x": np.zeros(32, np.float32)}
    return _core.Dispatch(
        metal.compile(SOURCE).pipeline(), arguments, threads_in_grid=32, threads=32
    )


@pytest.fixture
def modelled(metal_double):
    metal_double.set("no_engine", GPU_NS)
    metal_double.set("latency_in_ns", IN_NS)
    metal_double.set("latency_out_ns", OUT_NS)
    return metal_double


def windows(metal: _core.Device, add: _core.Dispatch, passes: int, count: int) -> np.ndarray:
    """Wall and GPU times, and those of encoding, of windows that are alone in the queue."""
    plan = {"max_pairs": 1, "candidate_window": passes, "warmup_ns": 0, "time_limit_ns": 1e9}
    found = [metal.sample([add], **plan) for _ in range(count)]
    return np.array(
        [[s.wall_ns[0] * passes, s.device_ns[0] * passes, s.encode_ns[0]] for s in found]
    )


@pytest.mark.usefixtures("modelled")
@pytest.mark.parametrize("passes", [1, 5])
def test_a_window_lasts_for_the_latencies_and_its_gpu_time(metal, add, passes) -> None:
    wall, device, encode = windows(metal, add, passes, 20).T
    np.testing.assert_allclose(device, passes * GPU_NS, atol=2 * metal.capabilities["tick_ns"])
    beyond = wall - (IN_NS + passes * GPU_NS + OUT_NS)
    assert (beyond > -2 * metal.capabilities["tick_ns"]).all()
    # What the host does before its commit, and a spinning thread; others may take the core.
    assert (beyond - encode).min() < 20e3


def test_without_latencies_no_time_is_spent(metal, add, metal_double) -> None:
    metal_double.set("no_engine", 3600e9)
    assert metal.run([add]) == pytest.approx(3600e9)


def test_mlx_commits_buffers_of_its_own(metal, metal_double) -> None:
    before = metal_double.get("command_buffers")
    metal_double.mlx(10, per_buffer=4, cost_ns=1e3)
    assert metal_double.get("command_buffers") - before == 3
    metal_double.mlx(0)
    assert metal_double.get("command_buffers") - before == 3


def test_mlx_takes_its_gpu_time(modelled) -> None:
    lasted = []
    for _ in range(10):
        begun = time.perf_counter_ns()
        modelled.mlx(6, per_buffer=2, cost_ns=GPU_NS)
        lasted.append(time.perf_counter_ns() - begun)
    assert min(lasted) >= IN_NS + 6 * GPU_NS + OUT_NS - 100


def test_queues_run_concurrently(metal, add, metal_double) -> None:
    metal_double.set("hang_command_buffer")
    hanging = threading.Thread(target=metal.run, args=([add],))
    hanging.start()
    while metal_double.get("hang_command_buffer"):
        pass
    # Would never end behind it.
    metal_double.mlx(3, per_buffer=1, cost_ns=1e3)
    metal_double.reset()
    hanging.join()


def test_windows_take_no_gpu_time_from_mlx(metal, add, modelled) -> None:
    beside = threading.Thread(target=modelled.mlx, args=(50,), kwargs={"cost_ns": GPU_NS})
    beside.start()
    device = windows(metal, add, 3, 5)[:, 1]
    beside.join()
    np.testing.assert_allclose(device, 3 * GPU_NS, atol=2 * metal.capabilities["tick_ns"])
