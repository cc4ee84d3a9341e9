"""Seal a process after everything is loaded, before the first instruction of a kernel."""

from __future__ import annotations

import os
import resource
import sys

from metalbench import _core
from metalbench.isolation.confinement import capabilities, policies, sandbox, seccomp
from metalbench.isolation.confinement.held import ConfinementReport

# Limit of its output, the only file that it can write.
PRINTED_BYTES = 1 << 26


def seal() -> ConfinementReport:
    """Restrict this process permanently to computing and to its open descriptors.

    This applies to all current and future threads. Afterwards the process can allocate memory,
    start threads, wait, and read, write and map descriptors that are open or sent to it. It cannot
    open files, create sockets, start programs or processes, signal others, or make memory
    executable.

    Call this when the device is open, every module is imported, and each kernel was loaded in the
    shapes of its launches: `device.pipeline(...)` and `device.program([...])` load code, which is
    not possible later. Faults of kernels then have no source lines, because lines are read from
    files.

    Calls that libraries make in passing (a file, the terminal) fail with EPERM. Deliberate calls
    (to start a program or process, a socket, a signal to others) end the process with SIGSYS, so
    that it cannot try something else; `parse_refused_call` reads the call's name from its output.

    Missing mechanisms do not raise; the returned report lists them.
    """
    held = ConfinementReport()
    os.environ.clear()
    resource.setrlimit(resource.RLIMIT_FSIZE, (PRINTED_BYTES, PRINTED_BYTES))
    if sys.platform == "darwin":
        held.attempt("the sandbox", lambda: sandbox.enter_sandbox(sandbox.SEALED_PROFILE))
        return held
    capabilities.drop_capabilities(files=True)
    _core.tell_of_refused_calls()
    held.attempt(
        "a filter of system calls",
        lambda: seccomp.install_filter(
            *policies.make_sealed_policy(os.getpid()), every_thread=True
        ),
    )
    return held
