"""Install system call filters, seccomp(2). They are permanent, and children inherit them."""

from __future__ import annotations

from metalbench.errors import Unsupported
from metalbench.isolation.confinement.bpf import Policy, Program, assemble
from metalbench.isolation.confinement.system import get_address, set_no_new_privileges, system_call
from metalbench.isolation.confinement.system_calls import load_system_calls

SET_MODE_FILTER, EVERY_THREAD = 1, 1
# SECCOMP_FILTER_FLAG_SPEC_ALLOW: Linux before 5.16 otherwise disables speculative store bypass in
# filtered threads. That slows timed code down, and would only protect the process from itself.
SPEC_ALLOW = 4


def install_filter(policy: Policy, otherwise: int, *, every_thread: bool) -> None:
    """Filter the calls of this thread and its children, or of `every_thread` of the process.

    Raises Unsupported with the reason if that is not possible. Then nothing has changed.
    """
    program = Program(assemble(load_system_calls(), policy, otherwise))
    try:
        set_no_new_privileges()
        flags = SPEC_ALLOW | (EVERY_THREAD if every_thread else 0)
        other = system_call("seccomp", SET_MODE_FILTER, flags, get_address(program))
    except OSError as error:
        raise Unsupported(f"seccomp: {error.strerror}") from error
    if other:
        raise Unsupported(f"seccomp: thread {other} already has another filter")
