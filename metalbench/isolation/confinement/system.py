"""Calls of the C library and of the kernel, of which a failure is an OSError."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

from metalbench.isolation.confinement.system_calls import load_system_calls

PR_SET_NO_NEW_PRIVS = 38


@cache
def load_c_library() -> ctypes.CDLL:
    """The C library, whose functions leave their `errno` where ctypes finds it."""
    return ctypes.CDLL(None, use_errno=True)


def system_call(name: str, *arguments: int | ctypes.c_void_p | None) -> int:
    """Make a system call; raises OSError if it fails, Unsupported on processors unknown here."""
    call = load_c_library().syscall
    call.restype = ctypes.c_long
    given = [
        each if isinstance(each, ctypes.c_void_p) else ctypes.c_long(each or 0)
        for each in arguments
    ]
    result: int = call(ctypes.c_long(load_system_calls().numbers[name]), *given)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def get_address(memory: ctypes.Structure | ctypes.Array[Any]) -> ctypes.c_void_p:
    """Where something is, as an argument; it must be kept alive meanwhile."""
    return ctypes.c_void_p(ctypes.addressof(memory))


def set_no_new_privileges() -> None:
    """No program that this thread starts has more rights than it; filters and rules require it."""
    system_call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
