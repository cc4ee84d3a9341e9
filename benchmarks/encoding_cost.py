"""Measure the host time of encoding and committing a window on the Metal device.

    python benchmarks/encoding_cost.py

Windows of K dispatches of an empty kernel. Off a Mac the device runs on the tests' double of Metal
(built when first asked for), whose kernels then take no time at all; what its encoder's methods
take is subtracted. The same run also measures dispatches with different arguments, which are set
each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

COUNTS = (2, 10, 100, 1000)
WINDOWS = 2000
GPU_NS = 10_000.0  # what the double says that a dispatch takes
KERNEL = "kernel void empty(device float* x, constant float& step) {}"


class NoDouble:
    """A Mac has Metal itself: there is nothing to subtract."""

    def get(self, name: str) -> float:
        """As the double's controls have it."""
        return 0.0


def double():
    if sys.platform == "darwin":
        return NoDouble()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from metal_double import plugin

    controls = plugin.controls()
    controls.set("no_engine", GPU_NS)
    return controls


def cost(device, controls, dispatches: list, count: int) -> tuple[float, float]:
    """Median host time of a window of `count` dispatches, in us: all, and without the double's."""
    calls = controls.get("encoder_calls")
    passes = count // len(dispatches)
    samples = device.sample(
        dispatches,
        max_pairs=WINDOWS,
        min_pairs=WINDOWS,
        candidate_window=passes,
        warmup_ns=0,
        time_limit_ns=20e9,
    )
    inside_ns = (controls.get("encoder_calls") - calls) / WINDOWS * controls.get("call_ns")
    all_ns = float(np.median(samples.encode_ns))
    return all_ns / 1e3, (all_ns - inside_ns) / 1e3


def main() -> None:
    controls = double()
    from metalbench import _core

    device = _core.open("metal")
    pipeline = device.compile(KERNEL).pipeline()
    one, other = (
        _core.Dispatch(
            pipeline, {"x": np.zeros(4, np.float32), "step": step}, threadgroups=1, threads=32
        )
        for step in (1.0, 2.0)
    )
    print(f"{device.name}: us a window, median of {WINDOWS}")
    print(f"{'K':>6}  {'same again':>20}  {'all set anew':>20}")
    print(f"{'':>6}  {'all':>9} {'our own':>10}  {'all':>9} {'our own':>10}")
    for count in COUNTS:
        row = [*cost(device, controls, [one], count), *cost(device, controls, [one, other], count)]
        print("{:6}  {:9.2f} {:10.2f}  {:9.2f} {:10.2f}".format(count, *row))


if __name__ == "__main__":
    main()
