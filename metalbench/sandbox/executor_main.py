"""Entry point of an executor process. It starts for every kernel, so it imports little."""

from __future__ import annotations

import os
import signal
import threading

from metalbench import _core
from metalbench.sandbox.confinement import confine, list_executor_files, seal


def work(channel: int, lifeline: int, parent: int, _: str) -> None:
    """Run kernels for the process `parent`, which sends requests over the descriptor `channel`."""
    # The parent, in the same session, handles Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # `confine` kills the process group when its pipe closes. The group is the judge's, so that pipe
    # never closes; the thread below ends this process alone.
    open_pipe, _held = os.pipe()
    confine(open_pipe, parent, list_executor_files())
    threading.Thread(target=_exit_with_lifeline, args=(lifeline,), daemon=True).start()
    # The core calls `seal` after loading and before the first kernel runs.
    _core.execute(channel, seal)


def _exit_with_lifeline(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)
