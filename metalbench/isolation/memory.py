"""Read the resident memory of another process of this user."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

MOST_CHILDREN = 256
RUSAGE_INFO_V0 = 0


def read_resident_bytes(pid: int, *, children: bool = True) -> int:
    """Return the resident bytes of process `pid` and, unless `children` is false, its descendants.

    Of descendants only unshared memory counts: buffers of kernels count where they were allocated.
    A process that has ended has 0.
    """
    own = _read_footprint(pid)
    return own + sum(map(_sum_unshared_bytes, list_children(pid))) if children else own


def _sum_unshared_bytes(pid: int) -> int:
    return _read_unshared_bytes(pid) + sum(map(_sum_unshared_bytes, list_children(pid)))


if sys.platform == "darwin":

    class _Usage(ctypes.Structure):
        """`struct rusage_info_v0` of <sys/resource.h>."""

        _fields_ = [
            ("uuid", ctypes.c_uint8 * 16),
            ("user_time", ctypes.c_uint64),
            ("system_time", ctypes.c_uint64),
            ("package_idle_wakeups", ctypes.c_uint64),
            ("interrupt_wakeups", ctypes.c_uint64),
            ("pageins", ctypes.c_uint64),
            ("wired_size", ctypes.c_uint64),
            ("resident_size", ctypes.c_uint64),
            ("physical_footprint", ctypes.c_uint64),
            ("start_time", ctypes.c_uint64),
            ("exit_time", ctypes.c_uint64),
        ]

    _system = ctypes.CDLL(None)

    def _read_footprint(pid: int) -> int:
        usage = _Usage()
        failed = _system.proc_pid_rusage(pid, RUSAGE_INFO_V0, ctypes.byref(usage))
        return 0 if failed else int(usage.physical_footprint)

    # macOS does not report how much of it is shared.
    _read_unshared_bytes = _read_footprint

    def list_children(pid: int) -> list[int]:
        """Return the IDs of the processes that `pid` started; at most MOST_CHILDREN."""
        numbers = (ctypes.c_int * MOST_CHILDREN)()
        found = _system.proc_listchildpids(pid, numbers, ctypes.sizeof(numbers))
        return list(numbers[: max(0, min(found, MOST_CHILDREN))])

else:
    _PAGE = os.sysconf("SC_PAGE_SIZE")

    def _read_footprint(pid: int) -> int:
        return _read_pages(pid)[0] * _PAGE

    def _read_unshared_bytes(pid: int) -> int:
        resident, shared = _read_pages(pid)
        return (resident - shared) * _PAGE

    def _read_pages(pid: int) -> tuple[int, int]:
        """Return the resident pages, and those of them that belong to files or shared memory."""
        try:
            fields = Path(f"/proc/{pid}/statm").read_bytes().split()
        except OSError:
            return 0, 0
        return int(fields[1]), int(fields[2])

    def list_children(pid: int) -> list[int]:
        """Each thread lists the processes that it started."""
        numbers: list[int] = []
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                listed = Path(f"/proc/{pid}/task/{thread}/children").read_bytes()
                numbers += map(int, listed.split())
        except OSError:
            pass
        return numbers
