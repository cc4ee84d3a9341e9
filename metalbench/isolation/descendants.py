"""List and kill the descendants of a process, in any process group.

A confined process is a subreaper (`lifetime.adopt_orphans`), so a process that was started in two
steps, or has left its session, remains a descendant.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from metalbench.isolation.memory import list_children

# Bound on the rounds, for a process that starts others faster than they are stopped.
MOST_ROUNDS = 64


def list_descendants(pid: int) -> list[int]:
    """Return the IDs of all descendants of process `pid`, parents before their children."""
    found = [pid]
    for each in found:
        found += [child for child in list_children(each) if child not in found]
    return found[1:]


def kill_descendants(pid: int) -> None:
    """Stop process `pid`, a child of this process, and kill all its descendants.

    Descendants are stopped first, until no new one appears, so that none can start another.
    """
    if sys.platform != "linux":  # only the process group is known there
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
