"""Cutting this process and its children off from the network, for good.

On Linux by a network namespace of its own where that is allowed, else by a seccomp filter (see
seccomp(2)) that refuses sockets of any family but AF_UNIX; on macOS by the sandbox.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from dataclasses import dataclass

from metalbench.errors import Unsupported

CLONE_NEWNET = 0x40000000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, JUMP_EQUAL, JUMP_NOT_BELOW, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
AF_UNIX = 1
IO_URING_SETUP = 425
# Calls of x32 have this bit, and would go past a filter that knows the plain numbers only.
X32 = 0x40000000
# All but sockets between processes of this machine; the way in which Bazel's sandbox says it.
PROFILE = b"""(version 1)
(allow default)
(deny network*)
(allow network* (remote unix-socket))
(allow network* (local unix-socket))
"""


@dataclass(frozen=True)
class _Machine:
    audit: int
    socket: int


MACHINES = {"x86_64": _Machine(0xC000003E, 41), "aarch64": _Machine(0xC00000B7, 198)}


class _Instruction(ctypes.Structure):
    """`struct sock_filter`."""

    _fields_ = [
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = [
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_Instruction)),
    ]


def cut_off() -> str:
    """Take the network away, and return by what means. Call it before threads are started.

    Raises Unsupported, saying why, where nothing works; then the network is still there.
    """
    if sys.platform == "darwin":
        return _by_sandbox()
    if sys.platform != "linux":
        raise Unsupported(f"network: no way is known to cut it off on {sys.platform}")
    system = ctypes.CDLL(None, use_errno=True)
    if system.unshare(CLONE_NEWNET) == 0:
        return "a network namespace of its own"
    return _by_filter(system)


def _by_filter(system: ctypes.CDLL) -> str:
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise Unsupported(f"network: no filter is written for {platform.machine()}")
    instructions = _filter(machine)
    program = _Program(len(instructions), instructions)
    system.prctl.argtypes = ctypes.c_int, *[ctypes.c_ulong] * 4
    for option, *arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program)),
    ):
        if system.prctl(option, *arguments, 0, 0) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise Unsupported(f"network: neither a namespace nor a filter is allowed: {reason}")
    return "a filter of system calls"


def _filter(machine: _Machine) -> ctypes.Array[_Instruction]:
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 0, 7, machine.audit),
        (LOAD, 0, 0, NUMBER),
        (JUMP_NOT_BELOW, 5, 0, X32),
        (JUMP_EQUAL, 4, 0, IO_URING_SETUP),
        (JUMP_EQUAL, 0, 2, machine.socket),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_EQUAL, 0, 1, AF_UNIX),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    return (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))


def _by_sandbox() -> str:
    system = ctypes.CDLL(None)
    if not hasattr(system, "sandbox_init"):
        raise Unsupported("network: this macOS has no sandbox_init")
    message = ctypes.c_char_p()
    if system.sandbox_init(PROFILE, ctypes.c_uint64(0), ctypes.byref(message)) != 0:
        raise Unsupported(f"network: the sandbox refuses: {(message.value or b'').decode()}")
    return "the sandbox"
