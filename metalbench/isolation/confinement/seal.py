"""What a process gives up once all is loaded, before the first instruction of a kernel."""

from __future__ import annotations

import os
import resource
import sys

from metalbench import _core
from metalbench.isolation.confinement import capabilities, policies, sandbox, seccomp
from metalbench.isolation.confinement.held import ConfinementReport

# Of what it prints, which is all that it can write to.
PRINTED_BYTES = 1 << 26


def seal() -> ConfinementReport:
    """Let this process compute, and answer over what is open, and nothing else, for good.

    Holds for every thread that there is, and for those to come. Afterwards it can allocate memory,
    start threads, wait, and read, write and map descriptors that are open or sent to it. It cannot
    open files, make sockets, start programs or processes, signal others, or make memory executable.

    To be called when the device is open, every module is imported, and each kernel was loaded in
    the shapes that it will be launched in: `device.pipeline(...)` and `device.program([...])` load
    code, which is no more possible then. Faults of kernels have no lines of a source any more,
    because these are read from files.

    What a library asks for by the way (a file of its own, the terminal) fails with EPERM, and it
    does without. What nobody asks for by the way (to start a program or a process, a socket, a
    signal to others) ends the process by SIGSYS, and `parse_refused_call` reads its name from what the
    process printed: an attempt at more than computing shall not go on to try something else.

    Raises nothing for what the system does not offer; the result tells.
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
