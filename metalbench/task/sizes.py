"""Sizes that a task does not declare, spelled as `rows=613,cols=77`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SPELLED = re.compile(r"\w+=\d+(,\w+=\d+)*")


def spell_size(extents: Mapping[str, int]) -> str:
    """Return the size with these extents, as a name that every task understands."""
    return ",".join(f"{name}={extent}" for name, extent in extents.items())


def is_spelled(size: str) -> bool:
    """Return whether `size` spells extents out rather than naming a declared size."""
    return _SPELLED.fullmatch(size) is not None


def parse_size(size: str) -> dict[str, int]:
    """Return the extents that a spelled size has."""
    pairs = (each.split("=") for each in size.split(","))
    return {name: int(extent) for name, extent in pairs}
