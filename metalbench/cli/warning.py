"""What is said before a run that its conditions will spoil."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench._core import Device


def warn(log: Console, device: Device) -> None:
    """Print what a device's state says against measuring now, before time is spent on it."""
    from metalbench.conditions import warnings

    for each in warnings(device.state()):
        log.print(f"Warning: {each}.", style="yellow", soft_wrap=True)
