"""The figures of a new task, by the same trial that `metalbench run` makes of any kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.isolation import Limits, Workers
from metalbench.kernel.library import Entry
from metalbench.run.observed import device_facts
from metalbench.run.stages import Silent
from metalbench.run.trial import Trial

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.result import Result


def figures(
    device: Device, name: str, folder: Path, *, set_name: str, device_name: str, limits: Limits
) -> Result:
    """Try NAME.py and NAME.metal of `folder`, in a separate process.

    Raise MachineError if the machine is at fault.
    """
    path = folder / f"{name}.py"
    entry = Entry(name, set_name, path, [path.with_suffix(".metal")])
    kernel = entry.kernel()
    trial = Trial(entry, kernel, kernel.dtypes[0])
    with Workers(device_name, limits) as workers:
        return workers.attempt(device_facts(device), trial, (), Silent())
