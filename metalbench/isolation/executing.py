"""What runs in an executor's process. It imports next to nothing: it starts for every kernel."""

from __future__ import annotations

import os
import signal
import threading

from metalbench import _core
from metalbench.isolation.confinement import confine, list_executor_files, seal


def work(channel: int, lifeline: int, parent: int, _: str) -> None:
    """Run kernels for the process `parent`, which asks over the descriptor `channel`."""
    # Ctrl-C is for the process that asks, which is of the same session.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # This one is of its judge's session, and must not end it: what `confine` waits for is for ever.
    for_ever, _held = os.pipe()
    confine(for_ever, parent, list_executor_files())
    threading.Thread(target=_exit_with_lifeline, args=(lifeline,), daemon=True).start()
    # Called when all is loaded and before the first kernel runs: nothing is opened any more.
    _core.execute(channel, seal)


def _exit_with_lifeline(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)
