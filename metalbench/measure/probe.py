"""Create the probe: fixed work in registers, whose time tells the clock of a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch, Pipeline

SOURCE = Path(__file__).with_name("probe.metal")
LENGTH_NS = 100_000
# One SIMD-group: all cores have the same clock, and more would use power.
LANES = 32
FIRST_STEPS = 1024
TRIES = 3

_steps_of: dict[tuple[str, str], int] = {}


def create_probe(device: Device) -> list[Dispatch]:
    """Return the dispatches of the probe on `device`, about 0.1 ms long, calibrated once."""
    library = device.compile(SOURCE.read_text(encoding="utf-8"), filename=str(SOURCE))
    pipeline = library.pipeline("probe")
    known = device.kind, device.name
    if known not in _steps_of:
        _steps_of[known] = _calibrate(device, pipeline)
    return _dispatches(device, pipeline, _steps_of[known])


def _calibrate(device: Device, pipeline: Pipeline) -> int:
    """Return the steps that take `LENGTH_NS`, from the slope of two lengths, without the launch."""

    def fastest(steps: int) -> float:
        dispatches = _dispatches(device, pipeline, steps)
        return min(device.run(dispatches) for _ in range(TRIES))

    short, long = fastest(FIRST_STEPS), fastest(4 * FIRST_STEPS)
    step_ns = max((long - short) / (3 * FIRST_STEPS), long / (4 * FIRST_STEPS) / 100)
    return max(1, round(LENGTH_NS / step_ns))


def _dispatches(device: Device, pipeline: Pipeline, steps: int) -> list[Dispatch]:
    from metalbench import _core

    values = {"end": device.allocate(4 * LANES), "steps": steps}
    return [_core.Dispatch(pipeline, values, threads=(LANES, 1, 1), threadgroups=(1, 1, 1))]
