"""Read the processor time of another process per thread from the system.

The process cannot write these figures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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
