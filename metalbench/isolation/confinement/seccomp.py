"""Filters of system calls, seccomp(2): irrevocable, and inherited by whatever is started."""

from __future__ import annotations

from metalbench.errors import Unsupported
from metalbench.isolation.confinement.bpf import Policy, Program, assemble
from metalbench.isolation.confinement.system import get_address, set_no_new_privileges, system_call
from metalbench.isolation.confinement.system_calls import load_system_calls

SET_MODE_FILTER, EVERY_THREAD = 1, 1
# Older kernels (before 5.16) else make the processor guess less in filtered threads, which slows
# down what is timed, and protects a process from code that it is made of here.
SPEC_ALLOW = 4


def install_filter(policy: Policy, otherwise: int, *, every_thread: bool) -> None:
    """Filter the calls of this thread and of those it starts, or of `every_thread` there is.

    Raises Unsupported, saying why, where that is not possible; then nothing has changed.
    """
    program = Program(assemble(load_system_calls(), policy, otherwise))
    try:
        set_no_new_privileges()
        flags = SPEC_ALLOW | (EVERY_THREAD if every_thread else 0)
        other = system_call("seccomp", SET_MODE_FILTER, flags, get_address(program))
    except OSError as error:
        raise Unsupported(f"seccomp: {error.strerror}") from error
    if other:
        raise Unsupported(f"seccomp: thread {other} has a filter of its own already")
