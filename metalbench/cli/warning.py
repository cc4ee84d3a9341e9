"""Warn of conditions that spoil measurements, before a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench._core import Device


def warn(log: Console, device: Device) -> None:
    """Print conditions of device and machine that speak against measuring now."""
    from metalbench.cores import usable_cores
    from metalbench.result.conditions import list_device_warnings, warn_of_load

    busy = warn_of_load(os.getloadavg()[0], usable_cores()) if hasattr(os, "getloadavg") else None
    for each in (*list_device_warnings(device.state()), *([busy] if busy else ())):
        log.print(f"Warning: {each}.", style="yellow", soft_wrap=True)
