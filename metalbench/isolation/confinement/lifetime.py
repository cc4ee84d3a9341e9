"""That a process ends with the one that started it, and before that one when memory runs out."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

from metalbench.isolation.confinement.system import load_c_library

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def prefer_as_oom_victim() -> None:
    """Rather this process than the one that keeps the results."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        return


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has ended, prctl(2).

    So they stay among the descendants of this process, where `list_descendants.end_all` finds them.
    """
    load_c_library().prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def exit_with_parent(lifeline: int, parent: int) -> None:
    """End this process, and all of its group, when nobody holds the other end of a pipe any more.

    The process `parent` holds it, and has started this one.
    """
    if sys.platform == "linux":
        # Holds too when this process is stuck where it lets no thread of Python run.
        load_c_library().prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    threading.Thread(target=_wait_for_end, args=(lifeline,), daemon=True).start()


def _wait_for_end(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)
