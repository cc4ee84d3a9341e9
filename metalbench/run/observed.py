"""Convert objects of a run to those that results store."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from metalbench.analysis import Occupancy
from metalbench.result import Check, DeviceFacts

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel.prepare import Bound, Compiled
    from metalbench.verify import Comparison


class Described(Protocol):
    """The description of a device: an open one, or the facts of another machine's."""

    @property
    def kind(self) -> str:
        """`cpu`, `metal` or `cuda`."""

    @property
    def name(self) -> str:
        """The name by its vendor."""

    @property
    def chip(self) -> str | None:
        """The chip, such as `m4_max`; None if kernels have no variants for it."""

    @property
    def cores(self) -> int:
        """The number of cores."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Further properties by name."""


def device_facts(device: Described) -> DeviceFacts:
    """Describe a device for results."""
    return DeviceFacts(device.kind, device.name, device.chip, device.cores, device.capabilities)


def reduce_comparison(comparison: Comparison) -> Check:
    """Return the part of a comparison that results store."""
    index = ", ".join(map(str, comparison.index))
    exact = not comparison.bound
    return Check(
        size=comparison.size,
        seed=comparison.seed,
        passed=comparison.passed,
        worst=None if exact or not math.isfinite(comparison.ratio) else comparison.ratio,
        where=f"{comparison.output}[{index}]",
        message=f"expected {comparison.expected:.9g}, got {comparison.got:.9g}",
    )


def list_occupancy(bound: Bound, compiled: Compiled, device: Device) -> tuple[Occupancy, ...]:
    """List the geometry of every dispatch against the limits of its pipeline."""
    return tuple(
        Occupancy(
            pipeline=each.function,
            threadgroups=_threadgroups(each.grid, each.threads, in_threads=each.in_threads),
            threads=each.threads,
            max_threads=compiled.pipelines[each.function].max_threads,
            threadgroup_bytes=compiled.pipelines[each.function].threadgroup_bytes
            + sum(each.threadgroup_bytes.values()),
            max_threadgroup_bytes=device.limits.max_threadgroup_bytes,
            simd_width=compiled.pipelines[each.function].simd_width,
        )
        for each in bound.geometry
    )


def locate_error(error: Exception) -> str:
    """Return the message of a foreign error, with the place where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error} (in {frame.name}, {Path(frame.filename).name}:{frame.lineno})"


def _threadgroups(
    grid: tuple[int, int, int], threads: tuple[int, int, int], *, in_threads: bool
) -> tuple[int, int, int]:
    if not in_threads:
        return grid
    x, y, z = (-(-extent // group) for extent, group in zip(grid, threads, strict=True))
    return x, y, z
