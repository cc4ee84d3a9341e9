"""What every report says about the device that it belongs to."""

from __future__ import annotations

from metalbench.report import numbers
from metalbench.result import DeviceFacts

SIMULATION = (
    "Times are host times of a simulation: the Metal kernels and MLX both ran on this CPU. "
    "They say nothing about the speed of a GPU and are not comparable with GPU results."
)


def device_line(device: DeviceFacts) -> str:
    """``cpu (Example CPU, 2 cores)``."""
    chip = f", {device.chip}" if device.chip else ""
    return f"{device.kind} ({device.name}{chip}, {numbers.count(device.cores, 'core')})"


def simulation_notice(device: DeviceFacts) -> str | None:
    """The sentence that a simulation's reports carry; None for a real device."""
    return SIMULATION if device.simulated else None
