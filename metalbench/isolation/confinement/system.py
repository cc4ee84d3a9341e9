"""Call the C library and the kernel; a failure raises OSError."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

from metalbench.isolation.confinement.system_calls import load_system_calls

PR_SET_NO_NEW_PRIVS = 38


@cache
def load_c_library() -> ctypes.CDLL:
    """Return the C library, with `errno` accessible to ctypes."""
    return ctypes.CDLL(None, use_errno=True)


def system_call(name: str, *arguments: int | ctypes.c_void_p | None) -> int:
    """Make a system call. Raises OSError if it fails, Unsupported on unknown processors."""
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
    """Return the address of `memory` as an argument. The caller keeps `memory` alive."""
    return ctypes.c_void_p(ctypes.addressof(memory))


def set_no_new_privileges() -> None:
    """Forbid this thread to gain privileges by starting programs, as filters and rules require."""
    system_call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
