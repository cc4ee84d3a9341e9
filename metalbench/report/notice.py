"""What every report says about the device that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.report import numbers
from metalbench.result import DeviceFacts, Result

SIMULATION = (
    "Times are host times of a simulation: the Metal kernels and MLX both ran on this CPU. "
    "They say nothing about the speed of a GPU and are not comparable with GPU results."
)


GPU_TIME = "GPU time, GFLOP/s and GB/s are of the kernel alone, on the GPU's own clock"
CLOCKS = {
    "GPU time": f"Ratios are of GPU time. {GPU_TIME}.",
    "wall time": (
        "Kernel, MLX and their ratio are wall times of equal windows, for MLX has no GPU clock. "
        f"{GPU_TIME}."
    ),
}


def clock_notice(results: Sequence[Result]) -> str | None:
    """Which clock the ratios are on, where a device has one of its own."""
    clocks = {each.measurement.clock for each in results if each.measurement is not None}
    told = [CLOCKS[clock] for clock in sorted(filter(None, clocks))]
    return " ".join(told) or None


def device_line(device: DeviceFacts) -> str:
    """``cpu (Example CPU, 2 cores)``."""
    chip = f", {device.chip}" if device.chip else ""
    return f"{device.kind} ({device.name}{chip}, {numbers.count(device.cores, 'core')})"


def simulation_notice(device: DeviceFacts) -> str | None:
    """The sentence that a simulation's reports carry; None for a real device."""
    return SIMULATION if device.simulated else None
