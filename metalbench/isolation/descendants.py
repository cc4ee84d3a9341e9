"""Processes that a process has started, and those that these have started, in whatever group.

A confined process is a subreaper (`lifetime.adopt_orphans`): what was started in two steps, or has
left its session, stays among its descendants as long as it runs.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from metalbench.isolation.memory import list_children

# A process that starts others faster than they are stopped is given up on.
MOST_ROUNDS = 64


def list_descendants(pid: int) -> list[int]:
    """Return the numbers of all descendants of process `pid`, parents before their children."""
    found = [pid]
    for each in found:
        found += [child for child in list_children(each) if child not in found]
    return found[1:]


def kill_descendants(pid: int) -> None:
    """Kill all descendants of process `pid`, a child of this process, which stands still then.

    They are stopped until no new one appears, so that none can start another one meanwhile.
    """
    if sys.platform != "linux":  # where the group is all that is known
        return
    _signal(pid, signal.SIGSTOP)
    stopped: set[int] = set()
    for _ in range(MOST_ROUNDS):
        new = set(list_descendants(pid)) - stopped
        if not new:
            break
        for each in new:
            _signal(each, signal.SIGSTOP)
        stopped |= new
    for each in stopped:
        _signal(each, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
