"""Create namespaces for this process, namespaces(7): network and System V IPC.

Without the right to create them, create a user namespace first, which grants that right.
"""

from __future__ import annotations

import os
from contextlib import suppress

from metalbench.isolation.confinement.system import system_call

CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000


def isolate_network() -> str:
    """Move this process to an empty network, and return a description; "" if not permitted.

    Call this before threads start.
    """
    user, group = os.getuid(), os.getgid()
    for further, name in (
        (0, "a network namespace of its own"),
        (CLONE_NEWUSER, "namespaces of its own"),
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
