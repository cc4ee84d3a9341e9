"""Filters of system calls, seccomp(2): irrevocable, and inherited by whatever is started."""

from __future__ import annotations

from metalbench.errors import Unsupported
from metalbench.isolation.confinement.bpf import Policy, Program, assemble
from metalbench.isolation.confinement.system import address, gain_no_privileges, system_call
from metalbench.isolation.confinement.system_calls import machine

SET_MODE_FILTER, EVERY_THREAD = 1, 1


def install(policy: Policy, otherwise: int, *, every_thread: bool) -> None:
    """Filter the calls of this thread and of those it starts, or of `every_thread` there is.

    Raises Unsupported, saying why, where that is not possible; then nothing has changed.
    """
    program = Program(assemble(machine(), policy, otherwise))
    try:
        gain_no_privileges()
        other = system_call(
            "seccomp", SET_MODE_FILTER, EVERY_THREAD if every_thread else 0, address(program)
        )
    except OSError as error:
        raise Unsupported(f"seccomp: {error.strerror}") from error
    if other:
        raise Unsupported(f"seccomp: thread {other} has a filter of its own already")
