"""Conditions on a machine that make its times worth less, and what to do about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Fact: TypeAlias = bool | int | float | str | list[str]
Facts: TypeAlias = Mapping[str, Fact]

# Apple, "Respond to thermal state changes": at `fair` fans may be heard, above it clocks drop.
COOL = "nominal"
# Why an NVIDIA GPU's clock is below its highest, where that is no fault of the moment.
HARMLESS = ("idle", "application clocks")
# A run of our own leaves about one runnable process for each core behind in the average.
CROWDED = 1.5


def warnings(state: Facts) -> tuple[str, ...]:
    """What `Device.state()` says against measuring now, each with the likely effect and remedy."""
    found = []
    if state.get("low_power_mode"):
        found.append(
            "Low Power Mode is on, which makes the GPU about 30 % slower; turn it off in System "
            "Settings > Battery and run again"
        )
    thermal = state.get("thermal_state", COOL)
    if thermal != COOL:
        found.append(
            f"the machine is hot (thermal state {thermal}), so that its GPU may run at a lower "
            "clock; let it cool down, close other programs and run again"
        )
    held = [each for each in _listed(state.get("throttle_reasons")) if each not in HARMLESS]
    if held:
        found.append(
            f"the GPU holds its clock back ({', '.join(held)}), so that times are longer and may "
            "scatter; let it cool down, or see to its power, and run again"
        )
    tools = _listed(state.get("metal_tools"))
    if tools:
        found.append(
            f"{', '.join(tools)} is set, with which Metal checks, captures or draws what it runs, "
            "so that times are longer; unset it and run again"
        )
    return tuple(found)


def _listed(fact: Fact | None) -> list[str]:
    return fact if isinstance(fact, list) else []


def crowded(load: float, cores: int) -> str | None:
    """What a load average of so many runnable processes on `cores` says against measuring now."""
    if load <= CROWDED * cores:
        return None
    return (
        f"other programs keep this machine busy (load {load:.1f} on {cores} cores), so that times "
        "will scatter and verdicts take longer; close them, or wait, and run again"
    )
