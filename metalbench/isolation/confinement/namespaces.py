"""Namespaces of this process's own, namespaces(7): of the network, and of what processes share.

Without the right to make them it makes a namespace of users first, in which it has that right.
"""

from __future__ import annotations

import os
from contextlib import suppress

from metalbench.isolation.confinement.system import system_call

CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000


def isolate_network() -> str:
    """Be in a network with nobody else; returns what holds then, "" where it is not allowed.

    To be called before threads are started.
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
    """Be called in the new namespace what one was called outside; access to files is as before."""
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with suppress(OSError), open(f"/proc/self/{file}", "w", encoding="ascii") as told:
            told.write(text)
