"""Parse the report of a sealed process that a forbidden system call ended."""

from __future__ import annotations

import re

from metalbench.errors import Unsupported
from metalbench.isolation.confinement.system_calls import load_system_calls

# Format of csrc/cpu/linux/refused_call.cpp.
_REFUSED = re.compile(r"^\[confinement\] refused system call (\d+)$", re.M)


def parse_refused_call(last_words: str) -> str | None:
    """Return the system call that ended a process, from its output; None without one."""
    told = _REFUSED.search(last_words)
    if told is None:
        return None
    try:
        return load_system_calls().name(int(told[1]))
    except Unsupported:
        return f"system call {told[1]}"
