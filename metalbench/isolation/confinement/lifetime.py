"""End a process with its parent, and before its parent when memory runs out."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

from metalbench.isolation.confinement.system import load_c_library

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def prefer_as_oom_victim() -> None:
    """Let the system kill this process first when memory runs out, not the one with results."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        return


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent has ended, PR_SET_CHILD_SUBREAPER of prctl(2).

    So they remain descendants of this process, where `descendants.kill_descendants` finds them.
    """
    load_c_library().prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def exit_with_parent(lifeline: int, parent: int) -> None:
    """Kill this process group when the other end of the pipe `lifeline` closes.

    The process `parent` holds that end, and is the parent of this process.
    """
    if sys.platform == "linux":
        # Works even while this process blocks all Python threads.
        load_c_library().prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    threading.Thread(target=_wait_for_end, args=(lifeline,), daemon=True).start()


def _wait_for_end(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)
