"""Conditions of a machine that make its times less reliable, with remedies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Fact: TypeAlias = bool | int | float | str | list[str]
Facts: TypeAlias = Mapping[str, Fact]

# Apple, "Respond to thermal state changes": at `fair` fans may run, above it clocks drop.
COOL = "nominal"
# Harmless reasons for an NVIDIA GPU's clock below its maximum.
HARMLESS = ("idle", "application clocks")
# A previous run contributes about one runnable process for each core to the load average.
CROWDED = 1.5


def list_device_warnings(state: Facts) -> tuple[str, ...]:
    """Return the warnings for a `Device.state()`, each with its likely effect and remedy."""
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
    held = [each for each in _as_list(state.get("throttle_reasons")) if each not in HARMLESS]
    if held:
        found.append(
            f"the GPU holds its clock back ({', '.join(held)}), so that times are longer and may "
            "scatter; let it cool down, or see to its power, and run again"
        )
    tools = _as_list(state.get("metal_tools"))
    if tools:
        found.append(
            f"{', '.join(tools)} is set, with which Metal checks, captures or draws what it runs, "
            "so that times are longer; unset it and run again"
        )
    return tuple(found)


def _as_list(fact: Fact | None) -> list[str]:
    """Return a fact that is a list; an empty list for anything else."""
    return fact if isinstance(fact, list) else []


def warn_of_load(load: float, cores: int) -> str | None:
    """Return the warning for a load average on `cores`; None if the load is acceptable."""
    if load <= CROWDED * cores:
        return None
    return (
        f"other programs keep this machine busy (load {load:.1f} on {cores} cores), so that times "
        "will scatter and verdicts take longer; close them, or wait, and run again"
    )
