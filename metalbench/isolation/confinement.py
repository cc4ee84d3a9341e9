"""What a worker gives up before anything of a kernel is near: cores, the network, a life after."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
import threading
from pathlib import Path

from metalbench.errors import Unsupported
from metalbench.isolation.network import cut_off

PR_SET_PDEATHSIG = 1


def confine(lifeline: int, parent: int) -> str:
    """Confine this process, and return by what means its network is cut ("" if by none).

    `lifeline` is a pipe whose other end only the process `parent` holds: when that one ends, this
    one does.
    """
    faulthandler.enable(all_threads=False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _die_first_when_memory_runs_out()
    try:
        means = cut_off()
    except Unsupported:
        means = ""
    _die_with(lifeline, parent)
    return means


def _die_first_when_memory_runs_out() -> None:
    """Rather this process than the one that keeps the results."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return


def _die_with(lifeline: int, parent: int) -> None:
    if sys.platform == "linux":
        # Holds too when this process is stuck where it lets no thread of Python run.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    threading.Thread(target=_wait_for_end, args=(lifeline,), daemon=True).start()


def _wait_for_end(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)
