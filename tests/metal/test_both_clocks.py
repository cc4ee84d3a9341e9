"""Kernel and MLX on the GPU's clock and on the wall's, with a stand-in for MLX of known cost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metalbench import _core
from metalbench.measure.measurement import Measurement, Plan
from metalbench.measure.sampling import Sides, measure
from metalbench.run import control
from metalbench.stats import Verdict

pytestmark = pytest.mark.metal

SOURCE = "kernel void work(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
COST_NS = 100e3
LATENCY_NS = 60e3
WINDOW_NS = 4e6


@pytest.fixture
def work(metal: _core.Device) -> _core.Dispatch:
    pipeline = metal.compile(SOURCE).pipeline()
    return _core.Dispatch(pipeline, {"x": np.zeros(64, np.float32)}, threads_in_grid=64, threads=64)


@pytest.fixture
def gpu(metal_double: Any) -> Any:
    """The double as a GPU on which every dispatch takes `COST_NS`, half of the latency away."""
    metal_double.set("no_engine", COST_NS)
    metal_double.set("latency_in_ns", LATENCY_NS / 2)
    metal_double.set("latency_out_ns", LATENCY_NS / 2)
    return metal_double


def of_mlx(gpu: Any, cost_ns: float, per_buffer: int = 20) -> Callable[[int], None]:
    return lambda repetitions: gpu.mlx(repetitions, per_buffer=per_buffer, cost_ns=cost_ns)


def sample(metal: _core.Device, candidate: Any, reference: Any, **options: Any) -> _core.Samples:
    plan = {"max_pairs": 12, "warmup_ns": 0, "window_ns": WINDOW_NS, "time_limit_ns": 60e9}
    return metal.sample(candidate, reference, **{**plan, **options})


def undisturbed(wall_ns: np.ndarray) -> float:
    """Return the time of a window on an idle machine."""
    return float(wall_ns.min())


def plan() -> Plan:
    return Plan(seconds=2.0, warmup_ns=1_000_000, probe_drop=0.0)


def measured(metal: _core.Device, work: _core.Dispatch, reference: Any) -> Measurement:
    return measure(metal, Sides([work], reference), plan())


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.3])
def test_a_reference_of_known_cost_has_its_ratio_by_both_clocks(
    metal: _core.Device, work: _core.Dispatch, gpu: Any, ratio: float
) -> None:
    found = measured(metal, work, of_mlx(gpu, ratio * COST_NS))
    assert found.clock == "GPU time"
    assert found.gpu_ratio is not None
    assert found.wall_ratio is not None
    assert found.gpu_ratio.value == pytest.approx(ratio, rel=1e-3)
    own = found.samples.own
    assert own is not None
    assert undisturbed(own.reference_wall_ns) / undisturbed(own.wall_ns) == pytest.approx(
        ratio, rel=0.01
    )
    assert found.candidate_ns.value == pytest.approx(COST_NS, rel=1e-3)
    expected = {0.5: Verdict.SLOWER, 1.0: Verdict.SAME, 1.3: Verdict.FASTER}
    assert found.verdict is expected[ratio]


def test_the_four_patterns_of_pairs_have_one_wall_time(
    metal: _core.Device, work: _core.Dispatch, gpu: Any
) -> None:
    # Short windows, of which the way to the GPU is 6 %.
    samples = sample(
        metal, [work], of_mlx(gpu, COST_NS), window_ns=10 * COST_NS, max_pairs=400, seed=1
    )
    first = samples.candidate_first
    window_ns = samples.wall_ns * samples.candidate_window
    patterns = {
        (before, now): undisturbed(window_ns[1:][(first[:-1] == before) & (first[1:] == now)])
        for before in (False, True)
        for now in (False, True)
    }
    assert max(patterns.values()) / min(patterns.values()) < 1.02, patterns
    assert min(patterns.values()) > samples.candidate_window * COST_NS + LATENCY_NS


def test_empty_and_long_windows_have_launch_costs(
    metal: _core.Device, work: _core.Dispatch, gpu: Any
) -> None:
    samples = sample(
        metal, [work], of_mlx(gpu, COST_NS), window_ns=4 * COST_NS, max_pairs=4, long_windows=6
    )
    k = samples.candidate_window
    assert samples.floor_ns.min() * k > k * COST_NS + LATENCY_NS
    assert samples.long_ns.min() * 4 * k > 4 * k * COST_NS + LATENCY_NS
    k = samples.reference_window
    assert samples.reference_long_ns.min() * 4 * k > 4 * k * COST_NS + LATENCY_NS
    np.testing.assert_allclose(samples.long_device_ns, COST_NS, rtol=1e-3)
    np.testing.assert_allclose(samples.reference_long_device_ns, COST_NS, rtol=1e-3)
    np.testing.assert_allclose(samples.floor_device_ns, COST_NS, rtol=1e-3)


@pytest.mark.parametrize("per_buffer", [1, 7, 1000])
def test_the_reference_takes_the_same_time_in_any_command_buffers(
    metal: _core.Device, work: _core.Dispatch, gpu: Any, per_buffer: int
) -> None:
    samples = sample(metal, [work], of_mlx(gpu, COST_NS, per_buffer))
    np.testing.assert_allclose(samples.reference_device_ns, COST_NS, rtol=1e-3)
    assert (samples.reference_wall_ns > COST_NS).all()


def test_concurrent_work_counts_once(metal: _core.Device, work: _core.Dispatch, gpu: Any) -> None:
    def twice_at_once(repetitions: int) -> None:
        gpu.mlx(repetitions, per_buffer=5, cost_ns=COST_NS)
        # Another queue, of which the GPU's work is known: our own is left out.
        metal.run([work])

    samples = sample(metal, [work], twice_at_once)
    np.testing.assert_allclose(samples.reference_device_ns, COST_NS, rtol=1e-3)


def test_a_window_without_command_buffers_has_no_gpu_time(
    metal: _core.Device, work: _core.Dispatch, gpu: Any
) -> None:
    def on_the_cpu(repetitions: int) -> None:
        threading.Event().wait(repetitions * COST_NS / 1e9)

    samples = sample(metal, [work], on_the_cpu)
    assert np.isnan(samples.reference_device_ns).all()
    found = measured(metal, work, on_the_cpu)
    assert found.clock == "wall time"
    assert found.gpu_ratio is None
    assert found.by_wall is None
    assert found.gpu_ns is not None
    assert found.gpu_ns.value == pytest.approx(COST_NS, rel=1e-3)


@pytest.mark.parametrize("what", ["zero_gpu_time", "reversed_gpu_time"])
def test_one_window_without_gpu_time_uses_wall_time(
    metal: _core.Device, work: _core.Dispatch, gpu: Any, what: str
) -> None:
    calls = 0

    def sometimes(repetitions: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 20:
            gpu.set(what)
        gpu.mlx(repetitions, per_buffer=20, cost_ns=COST_NS)
        gpu.set(what, 0)

    found = measured(metal, work, sometimes)
    own = found.samples.own
    assert own is not None
    assert np.isnan(own.reference_device_ns).sum() == 1
    assert found.clock == "wall time"
    assert found.verdict is not None


def test_observers_are_removed_after_a_plan(
    metal: _core.Device, work: _core.Dispatch, gpu: Any
) -> None:
    seen = []

    def reference(repetitions: int) -> None:
        seen.append(gpu.commit_is_replaced)
        gpu.mlx(repetitions, per_buffer=20, cost_ns=COST_NS)

    def broken(repetitions: int) -> None:
        raise RuntimeError("no such array")

    for _ in range(2):
        sample(metal, [work], reference, max_pairs=2)
        assert all(seen)
        assert not gpu.commit_is_replaced
    with pytest.raises(RuntimeError, match="no such array"):
        sample(metal, [work], broken)
    assert not gpu.commit_is_replaced
    sample(metal, [work], None, max_pairs=2)
    assert not gpu.commit_is_replaced


def test_functions_on_both_sides_are_distinguished(metal: _core.Device, gpu: Any) -> None:
    samples = sample(metal, of_mlx(gpu, COST_NS), of_mlx(gpu, 3 * COST_NS))
    np.testing.assert_allclose(samples.device_ns, COST_NS, rtol=1e-3)
    np.testing.assert_allclose(samples.reference_device_ns, 3 * COST_NS, rtol=1e-3)
    assert samples.floor_ns.size == 0


def test_sample_refuses_other_objects(metal: _core.Device) -> None:
    with pytest.raises(TypeError, match=r"candidate: expected dispatches, or a function .* int 3"):
        metal.sample(3)  # type: ignore[arg-type]


def test_dispatches_on_both_sides_use_the_clock_of_the_gpu(
    metal: _core.Device, work: _core.Dispatch, gpu: Any
) -> None:
    found = measured(metal, work, [work, work])
    assert found.clock == "GPU time"
    assert found.by_wall is None
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(2.0, rel=1e-3)


def by_both_ways(
    metal: _core.Device, size: str, reference: Any, monkeypatch: pytest.MonkeyPatch
) -> Measurement:
    from metalbench import reference as references

    monkeypatch.setattr(references, "create_reference", lambda *_: (reference, ()))
    monkeypatch.setattr(control, "_expect_the_same", lambda *_: None)
    return control.measure_path(metal, size, plan())


def test_one_kernel_by_both_paths_is_the_same(
    metal: _core.Device, gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = by_both_ways(metal, "large", of_mlx(gpu, COST_NS), monkeypatch)
    assert found.verdict is Verdict.SAME
    assert found.by_wall is not None
    own = found.samples.own
    assert own is not None
    assert undisturbed(own.reference_wall_ns) == pytest.approx(undisturbed(own.wall_ns), rel=0.01)


# What a pass and MLX's command buffers are at each size: MLX's graphs have some 1.5 ms of work.
COSTS_NS = {"small": 6e3, "large": 150e3, "huge": 1.2e6}
PER_BUFFER = {"small": 12, "large": 10, "huge": 1}


@pytest.fixture
def costly(gpu: Any) -> Any:
    """The double with what boundaries cost on a Mac, and a clock that falls when it is idle."""
    for name, value in {
        "command_buffer_ns": 20e3,
        "encoder_ns": 1e3,
        "fence_ns": 0.5e3,
        # Longer than a busy machine keeps a thread from its core: what the host does not hand over
        # in time lets the clock fall here, too.
        "idle_after_ns": 50e6,
        "idle_slowdown": 0.5,
        "ramp_ns": 1e6,
        "residency_ns": 200e3,
    }.items():
        gpu.set(name, value)
    return gpu


@pytest.mark.parametrize("size", control.SIZES)
def test_boundaries_of_command_buffers_cost_both_ways_the_same(
    metal: _core.Device, costly: Any, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    costly.set("no_engine", COSTS_NS[size])
    mlx = of_mlx(costly, COSTS_NS[size], PER_BUFFER[size])
    found = by_both_ways(metal, size, mlx, monkeypatch)
    assert found.verdict is Verdict.SAME, found.ratio
    samples = found.samples
    assert samples.passes_per_command_buffer == PER_BUFFER[size]
    assert samples.reference_passes_per_command_buffer == pytest.approx(PER_BUFFER[size], rel=0.1)


@pytest.mark.parametrize("size", control.SIZES)
def test_a_difference_of_five_percent_is_found_despite_boundary_costs(
    metal: _core.Device, costly: Any, size: str
) -> None:
    cost_ns = COSTS_NS[size]
    # The smallest is mostly boundary, which no kernel makes any faster.
    share = cost_ns / (cost_ns + 21.5e3 / PER_BUFFER[size])
    costly.set("no_engine", cost_ns)
    pipeline = metal.compile(SOURCE).pipeline()
    work = _core.Dispatch(pipeline, {"x": np.zeros(64, np.float32)}, threads_in_grid=64, threads=64)
    slower = of_mlx(costly, cost_ns * (1 + 0.05 / share), PER_BUFFER[size])
    found = measure(metal, Sides([work], slower), plan())
    assert found.verdict is Verdict.FASTER
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.05, abs=0.01)


def test_command_buffer_ns_measures_the_cost_of_a_command_buffer(
    metal: _core.Device, costly: Any
) -> None:
    costly.set("no_engine", 6e3)
    pipeline = metal.compile(SOURCE).pipeline()
    work = _core.Dispatch(pipeline, {"x": np.zeros(64, np.float32)}, threads_in_grid=64, threads=64)
    cost = control.command_buffer_ns(metal, [work])
    assert cost.value == pytest.approx(21.5e3, rel=0.05)


@pytest.mark.parametrize("dispatches", [1, 3])
def test_a_window_has_no_more_passes_in_a_command_buffer_than_allowed(
    metal: _core.Device, gpu: Any, work: _core.Dispatch, dispatches: int
) -> None:
    plan = {"candidate_window": 50, "max_pairs": 1, "warmup_ns": 0}
    for most, expected in {1: 50, 7: 8, 20: 3, 1000: 1 if dispatches == 1 else 2}.items():
        before = gpu.get("commits")
        metal.sample([work] * dispatches, None, passes_per_command_buffer=most, **plan)
        assert gpu.get("commits") - before == expected


def test_a_lower_clock_during_mlx_is_reported(metal: _core.Device, costly: Any) -> None:
    cost_ns = 150e3
    costly.set("no_engine", cost_ns)
    longer = replace(plan(), seconds=6.0)
    steady = measure(metal, probed(metal, of_mlx(costly, cost_ns, 10)), longer)
    assert steady.clock_ratio is not None
    assert steady.clock_ratio.value == pytest.approx(1.0, abs=0.1)
    assert not [doubt for doubt in steady.doubts if "clock differs" in doubt]
    # Between its command buffers the host works for so long that the GPU's clock falls.
    costly.set("idle_after_ns", 5e6)
    costly.set("mlx_host_ns", 3e6)
    paused = measure(metal, probed(metal, of_mlx(costly, cost_ns, 3)), longer)
    assert paused.clock_ratio is not None
    assert paused.clock_ratio.low > 1.2
    (doubt,) = [doubt for doubt in paused.doubts if "clock differs" in doubt]
    assert "longer directly after MLX's windows than after the kernel's" in doubt


def probed(metal: _core.Device, reference: Any) -> Sides:
    pipeline = metal.compile(SOURCE).pipeline()
    work = _core.Dispatch(pipeline, {"x": np.zeros(64, np.float32)}, threads_in_grid=64, threads=64)
    return Sides([work], reference, probe=[work])
