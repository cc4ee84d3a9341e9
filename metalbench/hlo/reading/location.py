"""Format source locations of MLIR operations."""

from __future__ import annotations

import re
from typing import Any


def format_location(operation: Any) -> str:
    """Return the location of an operation: FILE:LINE:COLUMN, or its name in JAX."""
    found = re.findall(r'"([^"]*)"(?::(\d+):(\d+))?', str(operation.location))
    places = [":".join(part for part in each if part) for each in found]
    return places[0] if places else "at an unknown place"
