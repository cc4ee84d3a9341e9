"""Limits of time and memory for one kernel."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SECONDS = 600.0
# Memory limit of the container on Linux: control groups version 2, then version 1.
CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bytes() -> int:
    """Return the memory of the machine, or of the container where that is less."""
    known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in map(Path, CONTAINER):
        try:
            text = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():
            known.append(int(text))
    return min(known)


def _half_of_memory() -> int:
    return memory_bytes() // 2


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one trial: `seconds`, and `memory_bytes` for its process and that one's children.

    Resident memory counts. Reserved address space does not.
    """

    seconds: float = SECONDS
    memory_bytes: int = field(default_factory=_half_of_memory)


# Read the resident memory of another process of this user.

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
            with open(f"/proc/{pid}/statm", "rb") as file:
                fields = file.read().split()
        except OSError:
            return 0, 0
        return int(fields[1]), int(fields[2])

    def list_children(pid: int) -> list[int]:
        """Each thread lists the processes that it started."""
        numbers: list[int] = []
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                # Not by pathlib, which takes twice as long: a run does this ten times a second.
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    numbers += map(int, file.read().split())
        except OSError:
            pass
        return numbers


# Read the processor time of another process per thread from the system.
#
# The process cannot write these figures.

# Name of the threads that run kernels, set in csrc/cpu/pool.cpp.
WORKER = "mb-worker"
# Encoding of a process ID as a clock ID on Linux, clock_getcpuclockid(3).
CPU_CLOCK = 2


class ProcessTimes(NamedTuple):
    """Processor times so far in ns, and a count of waits of kernel threads.

    `kernels_ns` is the time of the busiest kernel thread. `others_ns` is that of all other threads,
    including ended ones. `waits` is the greatest number of voluntary context switches of a kernel
    thread: each launch ends with one.
    """

    kernels_ns: int
    others_ns: int
    waits: int

    def since(self, before: ProcessTimes) -> ProcessTimes:
        """Return the difference to `before`."""
        return ProcessTimes(*(now - then for now, then in zip(self, before, strict=True)))


def find_kernel_threads(pid: int) -> tuple[int, ...]:
    """Return the IDs of the kernel threads of process `pid`; empty where /proc is missing.

    Threads are found by name. Code in the process can give that name to other threads: call this
    before any foreign code runs there.
    """
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return ()
    return tuple(int(each) for each in threads if _read_thread_name(pid, each) == WORKER)


def read_times(pid: int, kernels: Sequence[int]) -> ProcessTimes | None:
    """Return the times of process `pid`, whose threads `kernels` run kernels.

    None where the system does not report them, or the process or one of the threads has ended.
    """
    try:
        whole = time.clock_gettime_ns(~pid << 3 | CPU_CLOCK)
        own = [_read_run_ns(pid, each) for each in kernels]
        waits = [_read_waits(pid, each) for each in kernels]
    except (OSError, ValueError, IndexError):
        return None
    if not own:
        return None
    return ProcessTimes(max(own), max(0, whole - sum(own)), max(waits))


def _read_thread_name(pid: int, thread: str) -> str:
    try:
        return Path(f"/proc/{pid}/task/{thread}/comm").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _read_run_ns(pid: int, thread: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_bytes().split()[0])
    except FileNotFoundError:
        # A Linux kernel without CONFIG_SCHED_INFO reports ticks only.
        fields = Path(f"/proc/{pid}/task/{thread}/stat").read_bytes().rpartition(b")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return ticks * 10**9 // os.sysconf("SC_CLK_TCK")


def _read_waits(pid: int, thread: int) -> int:
    status = Path(f"/proc/{pid}/task/{thread}/status").read_bytes()
    return int(status.partition(b"\nvoluntary_ctxt_switches:")[2].split()[0])
