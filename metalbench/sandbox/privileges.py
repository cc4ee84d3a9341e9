"""Create namespaces for this process, namespaces(7): network and System V IPC.

Without the right to create them, create a user namespace first, which grants that right.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from contextlib import suppress

from metalbench.sandbox.system_calls import get_address, load_c_library, system_call

CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000


def isolate_network() -> str:
    """Move this process to an empty network, and return a description; "" if not permitted.

    Call this before threads start.
    """
    user, group = os.getuid(), os.getgid()
    for further, name in (
        (0, "a separate network namespace"),
        (CLONE_NEWUSER, "separate namespaces"),
    ):
        try:
            system_call("unshare", CLONE_NEWNET | CLONE_NEWIPC | further)
        except OSError:
            continue
        if further:
            _keep_identity(user, group)
        return name
    return ""


def _keep_identity(user: int, group: int) -> None:
    """Map this user and group to themselves in the new namespace: file access is unchanged."""
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with suppress(OSError), open(f"/proc/self/{file}", "w", encoding="ascii") as told:
            told.write(text)


# Drop the capabilities of root, capabilities(7).

VERSION_3 = 0x20080522
# Access to files of any owner: the root user of a container needs it for its own files.
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2


def drop_capabilities(*, files: bool) -> None:
    """Drop all capabilities of this thread and its children; access to files only with `files`."""
    header = (ctypes.c_uint32 * 2)(VERSION_3, 0)
    # Effective, permitted, inheritable, for the lower and the upper half of the set.
    now = (ctypes.c_uint32 * 6)()
    kept = 0 if files else 1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH
    with suppress(OSError):
        system_call("capget", get_address(header), get_address(now))
        less = (ctypes.c_uint32 * 6)(now[0] & kept, now[1] & kept, 0, 0, 0, 0)
        system_call("capset", get_address(header), get_address(less))


# End a process with its parent, and before its parent when memory runs out.

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


def list_parents(number: int) -> list[int]:
    """Return the parent of process `number`; none for the first process, which has no parent."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            # The name, which may have spaces and parentheses, is followed by the state.
            parent = int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return []
    return [parent] if parent > 1 else []


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
