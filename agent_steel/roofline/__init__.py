"""Measure the roofline of a device with two plain kernels (Williams et al., 2009)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from metalbench.kernel.library import Library
from metalbench.measure.device_limits import Peaks
from metalbench.measure.measurement import Plan
from metalbench.run.trial import Silent, Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metalbench.run.trial import Observer
    from metalbench.store.result import DeviceFacts, Result

SECONDS = 0.5
SOURCE = "a copy and multiply-adds, measured here"


class Triers(Protocol):
    """The pool that runs trials: `metalbench.workers.pool.Workers`."""

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording."""


def measure_roofline(
    triers: Triers, device: DeviceFacts, *, seconds: float = SECONDS
) -> Peaks | None:
    """Return the rates of plain kernels on a device; None if one of them failed.

    Raise MachineError if the machine is at fault.
    """
    library = Library([Path(__file__).parent])
    work = []
    for name in ("copy_roof", "arithmetic_roof"):
        entry = library.entry(name)
        trial = Trial(entry, entry.kernel(), "float32", plan=Plan(seconds=seconds))
        analysis = triers.attempt(device, trial, (), Silent()).analysis
        if analysis is None:
            return None
        work.append(analysis.work)
    copied, computed = work
    return Peaks(computed.gflops.value, copied.gbytes_per_s.value, SOURCE)
