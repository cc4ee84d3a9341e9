"""Statements of every report about its device."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.report import numbers
from metalbench.result import DeviceFacts, Result

SIMULATION = (
    "Times are host times of a simulation: the Metal kernels and MLX both ran on this CPU. "
    "They say nothing about the speed of a GPU and are not comparable with GPU results."
)


CLOCKS = {
    "GPU time": (
        "Times, ratios and verdicts are of GPU time, on the GPU's own clock: what the kernels "
        "cost. By wall time is what a program sees, with the host's work and the way to the GPU."
    ),
    "wall time": (
        "Kernel, MLX and their ratio are wall times of equal windows, for the GPU's clock did not "
        "tell all of MLX's. GPU time, GFLOP/s and GB/s are of the kernel alone, on that clock."
    ),
}


def clock_notice(results: Sequence[Result]) -> str | None:
    """Return the statement on the clock of the ratios, if the device has a separate clock."""
    tasks: dict[str, dict[str, None]] = {}
    for each in results:
        if each.measurement is not None and each.measurement.clock is not None:
            tasks.setdefault(each.measurement.clock, {})[each.case.task] = None
    told = [
        CLOCKS[clock] if len(tasks) == 1 else f"{', '.join(about)}: {CLOCKS[clock]}"
        for clock, about in sorted(tasks.items())
    ]
    return " ".join(told) or None


def device_line(device: DeviceFacts) -> str:
    """Return ``cpu (Example CPU, 2 cores)``; virtual GPUs report no number of cores."""
    chip = f", {device.chip}" if device.chip else ""
    cores = f", {numbers.count(device.cores, 'core')}" if device.cores else ""
    return f"{device.kind} ({device.name}{chip}{cores})"


def simulation_notice(device: DeviceFacts) -> str | None:
    """Return the statement of a simulation's reports; None for a real device."""
    return SIMULATION if device.simulated else None
