"""Confine a process at its start, before imports and before any code of a kernel is loaded."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress

from metalbench import _core
from metalbench.errors import Unsupported
from metalbench.sandbox import landlock, privileges, seccomp
from metalbench.sandbox.landlock import Files
from metalbench.sandbox.system_calls import load_c_library

# Report of the mechanisms that confine a process.


class ConfinementReport:
    """Names of the active `mechanisms`, and reasons for the `missing` ones."""

    def __init__(self) -> None:
        self.mechanisms: list[str] = []
        self.missing: list[str] = []

    def attempt(self, name: str, mechanism: Callable[[], object]) -> bool:
        """Apply a mechanism, record the outcome, and return whether it is active."""
        try:
            mechanism()
        except Unsupported as error:
            self.missing.append(str(error))
            return False
        self.mechanisms.append(name)
        return True


# The sandbox of macOS, sandbox(7). It is permanent, and children inherit it.

# Deny the network except Unix sockets, with the rules of Bazel's sandbox.
WORKER_PROFILE = b"""(version 1)
(allow default)
(deny network*)
(allow network* (remote unix-socket))
(allow network* (local unix-socket))
"""
# Mach services and IOKit, which the GPU driver uses, remain allowed. The last match decides.
SEALED_PROFILE = b"""(version 1)
(allow default)
(deny network*)
(deny file-write*)
(deny file-read-data (subpath "/Users") (subpath "/Volumes") (subpath "/private"))
(deny process-exec*)
(deny process-fork)
(deny signal)
(allow signal (target self))
"""


def enter_sandbox(profile: bytes) -> None:
    """Apply a profile to this process. Raises Unsupported if that is not possible."""
    system = load_c_library()
    if not hasattr(system, "sandbox_init"):
        raise Unsupported("sandbox: this macOS has no sandbox_init")
    message = ctypes.c_char_p()
    if system.sandbox_init(profile, ctypes.c_uint64(0), ctypes.byref(message)) != 0:
        raise Unsupported(f"sandbox: {(message.value or b'').decode(errors='replace')}")


# Largest file that a process may write. Shared memory is a file too, so a buffer may be this large.
FILE_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
# Device files of NVIDIA's driver; its library names its threads in the second.
_GPUS, _THREADS = "/dev/nvidia*", "/proc/self/task"
# Device files that discard what is written to them.
_NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")
_SYSTEM = ("/usr/lib", "/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo")
_FACTS = ("/etc/ld.so.cache", "/etc/localtime", "/proc/self", "/proc/cpuinfo", "/proc/meminfo")
_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir))
# Headers in a checkout. The key of a compiled kernel is a digest of them. An installed package
# contains them.
_HEADERS_OF_CHECKOUT = (os.path.join(_PACKAGE, "../csrc/msl"), os.path.join(_PACKAGE, "../include"))
_report = ConfinementReport()
_KERNEL = ("/sys/devices/system", "/sys/fs/cgroup", "/dev/urandom", "/dev/random", "/dev/null")


def confine(
    lifeline: int,
    parent: int,
    files: Files | None = None,
    *,
    gpu: bool = False,
    starts_executors: bool = False,
) -> str:
    """Confine this process, and return how its network is disabled; "" if it is not.

    Call this first, before the process has threads. `lifeline` is a pipe whose other end only the
    process `parent` holds: this process ends with that one.

    Without `files` the process may read all files of its user, because tasks are Python, and write
    to the cache and its temporary folder. With `files`, for a process that will call `seal`, it
    opens no other files. On macOS that begins with `seal`, because a process can enter one sandbox
    only. Mechanisms that the system lacks are skipped; `list_missing_mechanisms` and `metalbench
    doctor` report them.

    A process with `files` cannot start other processes from here on: loading a kernel may run code
    of its object.

    With `starts_executors` macOS's sandbox is left to the executors. Children inherit a sandbox,
    and a process can enter only one, which then could not be the narrower one of `seal`.

    With `gpu` the process has what NVIDIA's library needs: the devices, the names of its threads,
    and sockets of this machine. It still has a separate network namespace.
    """
    faulthandler.enable(all_threads=False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower_limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    privileges.prefer_as_oom_victim()
    if sys.platform == "darwin":
        means = _confine_on_mac(files, starts_executors=starts_executors)
    else:
        means = _confine_on_linux(parent, files, gpu=gpu)
    privileges.exit_with_parent(lifeline, parent)
    return means


def list_missing_mechanisms() -> tuple[str, ...]:
    """Return the mechanisms that `confine` could not use in this process, each with the reason."""
    return tuple(_report.missing)


def list_executor_files() -> Files:
    """Return the files that a process needs to load kernels from the cache, for `confine`."""
    found = (sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(sys.executable))
    # The working directory belongs to the user, even where `python -m` has put it into the path.
    here = os.getcwd()
    paths = [
        *found,
        *(each for each in sys.path if each and os.path.abspath(each) != here),
        _PACKAGE,
        *_HEADERS_OF_CHECKOUT,
        *_list_cache_folders(),
        *_SYSTEM,
        *_FACTS,
        *_KERNEL,
    ]
    return Files(readable=tuple(paths), writable=("/dev/null",))


def _list_worker_files(*, gpu: bool) -> Files:
    """Return the files that tasks may need. Tasks are Python and may read any file."""
    # Slow imports, which processes that load kernels do not need.
    import glob
    import tempfile

    writable = [*_list_cache_folders(), tempfile.gettempdir(), *_NOWHERE]
    if gpu:
        writable += [*glob.glob(_GPUS), _THREADS]
    return Files(readable=("/",), executable=("/",), writable=tuple(writable))


def _confine_on_linux(parent: int, files: Files | None, *, gpu: bool) -> str:
    means = privileges.isolate_network()
    privileges.adopt_orphans()
    _report.attempt("Landlock", lambda: _restrict_files(files or _list_worker_files(gpu=gpu)))
    if files is None:
        # The parent of a forked worker is the fork server, whose parent is the run.
        parents = [parent, *privileges.list_parents(parent)]
        policy = seccomp.make_worker_policy(*parents, local_sockets=gpu)
    else:
        # Only here: workers that judge and compile start faster without this import.
        from metalbench import _core

        _core.tell_of_refused_calls()
        policy = seccomp.make_executor_policy(parent)
    if _report.attempt("seccomp", lambda: seccomp.install_filter(*policy, every_thread=False)):
        means = means or "a filter of system calls"
    privileges.drop_capabilities(files=False)
    return means


def _restrict_files(files: Files) -> None:
    with landlock.open_ruleset(files) as rules:
        landlock.restrict_thread(rules)


def _confine_on_mac(files: Files | None, *, starts_executors: bool = False) -> str:
    if files is not None:
        return "the sandbox"
    if starts_executors:
        return "the sandbox of its executors"
    held = _report.attempt("the sandbox", lambda: enter_sandbox(WORKER_PROFILE))
    return "the sandbox" if held else ""


def _list_cache_folders() -> list[str]:
    """Create the cache folder that METALBENCH_CACHE names, and return it in a list."""
    named = os.environ.get("METALBENCH_CACHE")
    if not named:
        return []
    # If it cannot be created, the first write to it reports the error.
    with suppress(OSError):
        os.makedirs(named, exist_ok=True)
    return [named]


def _lower_limit(which: int, most: int) -> None:
    """Lower a resource limit permanently, unless it is lower already."""
    _, hard = resource.getrlimit(which)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (least, least))


# Seal a process after everything is loaded, before the first instruction of a kernel.

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
        held.attempt("the sandbox", lambda: enter_sandbox(SEALED_PROFILE))
        return held
    privileges.drop_capabilities(files=True)
    _core.tell_of_refused_calls()
    held.attempt(
        "a filter of system calls",
        lambda: seccomp.install_filter(*seccomp.make_sealed_policy(os.getpid()), every_thread=True),
    )
    return held
