"""What a sealed process tells of itself when a system call ends it, read back."""

from __future__ import annotations

import re

from metalbench.errors import Unsupported
from metalbench.isolation.confinement.system_calls import load_system_calls

# As csrc/cpu/linux/refused_call.cpp writes it.
_REFUSED = re.compile(r"^\[confinement\] refused system call (\d+)$", re.M)


def parse_refused_call(last_words: str) -> str | None:
    """The name of the system call that ended a process which printed this; None if none did."""
    told = _REFUSED.search(last_words)
    if told is None:
        return None
    try:
        return load_system_calls().name(int(told[1]))
    except Unsupported:
        return f"system call {told[1]}"
