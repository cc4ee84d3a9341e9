"""What a process gives up as it starts: before imports, before anything of a kernel is near."""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
from contextlib import suppress

from metalbench.isolation.confinement import (
    capabilities,
    landlock,
    lifetime,
    namespaces,
    policies,
    sandbox,
    seccomp,
)
from metalbench.isolation.confinement.held import ConfinementReport
from metalbench.isolation.confinement.landlock import Files

# Of one file that it writes: shared memory is files, too, so that a buffer may be as large.
FILE_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
# Where the driver of NVIDIA's GPUs is reached; and its library names its threads.
_GPUS, _THREADS = "/dev/nvidia*", "/proc/self/task"
# What programs write to and means nothing.
_NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")
_SYSTEM = ("/usr/lib", "/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo")
_FACTS = ("/etc/ld.so.cache", "/etc/localtime", "/proc/self", "/proc/cpuinfo", "/proc/meminfo")
_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
# The key of a compiled kernel is a digest of these, which an installed package has in itself.
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
    """Confine this process, and return by what means its network is cut ("" if by none).

    To be called first of all, before there are threads. `lifeline` is a pipe whose other end only
    the process `parent` holds: when that one ends, this one does.

    Without `files` it may read whatever its user may, because tasks are Python, and writes to the
    cache and to its folder for temporary files. With `files`, for a process that is going to call
    `seal`, it opens nothing else (on macOS all of that waits for `seal`: a process has one sandbox
    only). What the system does not offer is done without: `list_missing_mechanisms` names it, and so does
    `metalbench doctor`.

    Such a process starts no other one from here on: loading a kernel may run code of its object.

    With `starts_executors` macOS's sandbox is left to these: children inherit it, and a process has
    only one, which then cannot be the narrower one of `seal`.

    With `gpu` it has what NVIDIA's library does not start without: the devices, the names of its
    own threads, and sockets of this machine, of which it is in a network of its own.
    """
    faulthandler.enable(all_threads=False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower_limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    lifetime.prefer_as_oom_victim()
    if sys.platform == "darwin":
        means = _confine_on_mac(files, starts_executors=starts_executors)
    else:
        means = _confine_on_linux(parent, files, gpu=gpu)
    lifetime.exit_with_parent(lifeline, parent)
    return means


def list_missing_mechanisms() -> tuple[str, ...]:
    """Return what `confine` could not use in this process, each with the reason."""
    return tuple(_report.missing)


def list_executor_files() -> Files:
    """What a process needs to open that loads kernels from the cache, for `confine`."""
    found = (sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(sys.executable))
    # The working directory is the user's own, even where `python -m` has put it into the path.
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
    """What tasks may need, which are Python: to read and start whatever there is."""
    # Which take longer to import than all else here, and are not for what loads kernels.
    import glob
    import tempfile

    writable = [*_list_cache_folders(), tempfile.gettempdir(), *_NOWHERE]
    if gpu:
        writable += [*glob.glob(_GPUS), _THREADS]
    return Files(readable=("/",), executable=("/",), writable=tuple(writable))


def _confine_on_linux(parent: int, files: Files | None, *, gpu: bool) -> str:
    means = namespaces.isolate_network()
    lifetime.adopt_orphans()
    _report.attempt("Landlock", lambda: _restrict_files(files or _list_worker_files(gpu=gpu)))
    if files is None:
        policy = policies.make_worker_policy(parent, local_sockets=gpu)
    else:
        # Not for what only judges and compiles: the extension takes time to import.
        from metalbench import _core

        _core.tell_of_refused_calls()
        policy = policies.make_executor_policy(parent)
    if _report.attempt("seccomp", lambda: seccomp.install_filter(*policy, every_thread=False)):
        means = means or "a filter of system calls"
    capabilities.drop_capabilities(files=False)
    return means


def _restrict_files(files: Files) -> None:
    with landlock.open_ruleset(files) as rules:
        landlock.restrict_thread(rules)


def _confine_on_mac(files: Files | None, *, starts_executors: bool = False) -> str:
    if files is not None:
        return "the sandbox"
    if starts_executors:
        return "the sandbox of its executors"
    held = _report.attempt("the sandbox", lambda: sandbox.enter_sandbox(sandbox.WORKER_PROFILE))
    return "the sandbox" if held else ""


def _list_cache_folders() -> list[str]:
    """The folder of compiled kernels, as who started this process has told; made, to be named."""
    named = os.environ.get("METALBENCH_CACHE")
    if not named:
        return []
    # Where it cannot be made, whoever writes to it first says what is wrong.
    with suppress(OSError):
        os.makedirs(named, exist_ok=True)
    return [named]


def _lower_limit(which: int, most: int) -> None:
    """Lower a limit for good, if it is not lower already."""
    _, hard = resource.getrlimit(which)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (least, least))
