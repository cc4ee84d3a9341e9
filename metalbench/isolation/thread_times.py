"""Processor time of another process, by thread, as the system counts it.

Nothing in the process itself can write to these figures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# The name that csrc/cpu/pool.cpp gives the threads that run kernels.
WORKER = "mb-worker"
# How Linux makes a clock out of a process's number, clock_getcpuclockid(3).
CPU_CLOCK = 2


class ProcessTimes(NamedTuple):
    """Processor time so far, in ns, and how often the kernels' threads have waited.

    `kernels_ns` is of the busiest thread that runs kernels, `others_ns` of all other threads, with
    those that have ended. `waits` is the greatest number of voluntary context switches of a thread
    that runs kernels: each launch ends with one.
    """

    kernels_ns: int
    others_ns: int
    waits: int

    def since(self, before: ProcessTimes) -> ProcessTimes:
        """Return what has been added to `before`."""
        return ProcessTimes(*(now - then for now, then in zip(self, before, strict=True)))


def find_kernel_threads(pid: int) -> tuple[int, ...]:
    """Return the threads of process `pid` that run kernels; none where the system does not tell.

    They are told by their name, which code of the process can give to others: ask before any
    foreign code runs there.
    """
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return ()
    return tuple(int(each) for each in threads if _read_thread_name(pid, each) == WORKER)


def read_times(pid: int, kernels: Sequence[int]) -> ProcessTimes | None:
    """Return the times of process `pid`, whose threads `kernels` run kernels.

    None where the system does not tell them, or the process or one of the threads has ended.
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
        # A kernel without these statistics counts in ticks.
        fields = Path(f"/proc/{pid}/task/{thread}/stat").read_bytes().rpartition(b")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return ticks * 10**9 // os.sysconf("SC_CLK_TCK")


def _read_waits(pid: int, thread: int) -> int:
    status = Path(f"/proc/{pid}/task/{thread}/status").read_bytes()
    return int(status.partition(b"\nvoluntary_ctxt_switches:")[2].split()[0])
