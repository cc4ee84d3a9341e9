"""Compare GPU time and wall time for a kernel and a reference of known cost.

    python benchmarks/both_clocks.py

Off a Mac this uses the Metal double of the tests (built on first use), with a configured cost of a
dispatch and latency of the GPU. A stand-in for MLX commits command buffers on a separate queue.
Measured times can be compared with the configured ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

COST_NS = 100_000.0
LATENCY_NS = 60_000.0
RATIOS = (0.5, 1.0, 1.3, 3.0)
PER_BUFFER = 20
KERNEL = "kernel void work(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
PATTERNS = {
    (True, True): "candidate first, after candidate first",
    (False, True): "candidate first, after reference first",
    (True, False): "reference first, after candidate first",
    (False, False): "reference first, after reference first",
}


def double():
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from metal_double import plugin

    controls = plugin.controls()
    controls.set("no_engine", COST_NS)
    controls.set("latency_in_ns", LATENCY_NS / 2)
    controls.set("latency_out_ns", LATENCY_NS / 2)
    return controls


def mlx(controls, cost_ns: float):
    return lambda repetitions: controls.mlx(repetitions, per_buffer=PER_BUFFER, cost_ns=cost_ns)


def tell_ratios(device, work, controls) -> None:
    from metalbench.measure.measurement import Plan
    from metalbench.measure.sampling import Sides, measure
    from metalbench.report import numbers

    print(f"{'set':>5}  {'by GPU time':>24}  {'by wall time':>24}  verdict")
    for ratio in RATIOS:
        sides = Sides([work], mlx(controls, ratio * COST_NS))
        found = measure(device, sides, Plan(seconds=4.0, warmup_ns=50_000_000, probe_drop=0.0))
        ratios = [numbers.ratio(each) for each in (found.gpu_ratio, found.wall_ratio)]
        print(f"{ratio:5}  {ratios[0]:>24}  {ratios[1]:>24}  {found.verdict.value}")


def tell_patterns(device, work, controls) -> None:
    samples = device.sample(
        [work],
        mlx(controls, COST_NS),
        window_ns=10 * COST_NS,
        max_pairs=1000,
        warmup_ns=0,
        time_limit_ns=20e9,
    )
    first = samples.candidate_first
    window_us = samples.wall_ns * samples.candidate_window / 1e3
    expected_us = (samples.candidate_window * COST_NS + LATENCY_NS) / 1e3
    print(
        f"\nWall time of a window of {samples.candidate_window} dispatches, "
        f"expected {expected_us:.0f} us:"
    )
    for (before, now), name in PATTERNS.items():
        chosen = window_us[1:][(first[:-1] == before) & (first[1:] == now)]
        print(f"  {name}: {np.median(chosen):8.2f} us, median of {chosen.size}")


def main() -> None:
    if sys.platform == "darwin":
        sys.exit("expected the double, whose costs are known; `--ab-control` is for a Mac's GPU")
    controls = double()
    from metalbench import _core

    device = _core.open("metal")
    x = np.zeros(64, np.float32)
    pipeline = device.compile(KERNEL).pipeline()
    work = _core.Dispatch(pipeline, {"x": x}, threads_in_grid=64, threads=64)
    print(f"{COST_NS / 1e3:.0f} us a dispatch, {LATENCY_NS / 1e3:.0f} us to the GPU and back")
    tell_ratios(device, work, controls)
    tell_patterns(device, work, controls)


if __name__ == "__main__":
    main()
