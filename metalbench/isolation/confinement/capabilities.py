"""Drop the capabilities of root, capabilities(7)."""

from __future__ import annotations

import ctypes
from contextlib import suppress

from metalbench.isolation.confinement.system import get_address, system_call

VERSION_3 = 0x20080522
# Access to files of any owner: the root user of a container needs it for its own files.
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2


def drop_capabilities(*, files: bool) -> None:
    """Drop all capabilities of this thread and its children; access to files only with `files`."""
    header = (ctypes.c_uint32 * 2)(VERSION_3, 0)
    # Effective, permitted, inheritable, for the lower and the upper half of the set.
    now = (ctypes.c_uint32 * 6)()
    kept = 0 if files else 1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH
    with suppress(OSError):
        system_call("capget", get_address(header), get_address(now))
        less = (ctypes.c_uint32 * 6)(now[0] & kept, now[1] & kept, 0, 0, 0, 0)
        system_call("capset", get_address(header), get_address(less))
