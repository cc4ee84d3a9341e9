"""Kernel and MLX on the GPU's clock and on the wall's, with a stand-in for MLX of known cost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from metalbench import _core
from metalbench.measure import Measurement, Plan, Sides, measure
from metalbench.run import path_control
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
    """What a window takes when nothing else of this machine is in its way."""
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


def test_empty_and_long_windows_have_their_way_to_the_gpu_too(
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
def test_the_reference_takes_as_long_in_whatever_command_buffers(
    metal: _core.Device, work: _core.Dispatch, gpu: Any, per_buffer: int
) -> None:
    samples = sample(metal, [work], of_mlx(gpu, COST_NS, per_buffer))
    np.testing.assert_allclose(samples.reference_device_ns, COST_NS, rtol=1e-3)
    assert (samples.reference_wall_ns > COST_NS).all()


def test_work_at_the_same_time_counts_once(
    metal: _core.Device, work: _core.Dispatch, gpu: Any
) -> None:
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
def test_one_window_that_the_gpu_did_not_tell_makes_it_wall_time(
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


def test_what_observes_is_put_away_after_a_plan(
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


def test_functions_on_both_sides_are_told_apart(metal: _core.Device, gpu: Any) -> None:
    samples = sample(metal, of_mlx(gpu, COST_NS), of_mlx(gpu, 3 * COST_NS))
    np.testing.assert_allclose(samples.device_ns, COST_NS, rtol=1e-3)
    np.testing.assert_allclose(samples.reference_device_ns, 3 * COST_NS, rtol=1e-3)
    assert samples.floor_ns.size == 0


def test_what_is_neither_dispatches_nor_a_function_is_refused(metal: _core.Device) -> None:
    with pytest.raises(TypeError, match=r"candidate: expected dispatches, or a function .* int 3"):
        metal.sample(3)  # type: ignore[arg-type]


def test_dispatches_alone_are_timed_by_the_gpus_clock(
    metal: _core.Device, work: _core.Dispatch, gpu: Any
) -> None:
    found = measured(metal, work, [work, work])
    assert found.clock == "GPU time"
    assert found.by_wall is None
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(2.0, rel=1e-3)


def test_one_kernel_by_both_ways_is_the_same(
    metal: _core.Device, gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metalbench import reference

    beside = lambda *_: (of_mlx(gpu, COST_NS), ())  # noqa: E731
    monkeypatch.setattr(reference, "reference_beside", beside)
    monkeypatch.setattr(path_control, "_expect_the_same", lambda *_: None)
    found = path_control.measure_path(metal, plan())
    assert found.verdict is Verdict.SAME
    assert found.by_wall is not None
    own = found.samples.own
    assert own is not None
    assert undisturbed(own.reference_wall_ns) == pytest.approx(undisturbed(own.wall_ns), rel=0.01)
