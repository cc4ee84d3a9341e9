"""Test which mechanisms hold on this system: apply each in a process and try to bypass it."""

from __future__ import annotations

import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from metalbench.errors import Unsupported
from metalbench.sandbox import confinement, landlock, privileges, seccomp
from metalbench.sandbox.confinement import list_executor_files, seal

DONE, REFUSED, NOT_THERE = 0, 1, 2
TRAPPED = -signal.SIGSYS
Attempts = Mapping[str, Callable[[], object]]


@dataclass(frozen=True)
class Proof:
    """A mechanism, the `refused` attempts, the `done` (successful) ones, and why it is missing."""

    name: str
    means: str
    refused: tuple[str, ...]
    done: tuple[str, ...]
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether every attempt was refused."""
        return bool(self.refused) and not self.done


def run_proofs() -> list[Proof]:
    """Test all mechanisms in separate processes. Raises OSError if no process can start."""
    program = f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as proof; proof.main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise OSError(f"the process that tries them ended with {done.returncode}: {done.stderr}")
    return [
        Proof(**{**each, "refused": tuple(each["refused"]), "done": tuple(each["done"])})
        for each in json.loads(done.stdout)
    ]


def main() -> None:
    """Test all mechanisms of this system, and print the outcomes as JSON."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        server = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        found = [
            vars(each) for each in _iterate_proofs(folder, server.getsockname()[1], os.getpid())
        ]
    print(json.dumps(found))


def _iterate_proofs(folder: Path, port: int, parent: int) -> Iterator[Proof]:
    secret = folder / "secret"
    secret.write_text("not for kernels")
    calls: Attempts = {
        "open a file": secret.read_bytes,
        "make a socket": lambda: socket.socket(socket.AF_UNIX),
        "start a program": lambda: os.execv("/bin/sh", ["sh", "-c", "exit 0"]),
        "start a process": os.fork,
        "signal its parent": lambda: os.kill(parent, 0),
    }
    network: Attempts = {"connect": lambda: socket.create_connection(("127.0.0.1", port), 5)}
    if sys.platform == "darwin":
        yield _make_proof(
            "a sealed process",
            "the sandbox",
            lambda: confinement.enter_sandbox(confinement.SEALED_PROFILE),
            calls,
        )
        yield _make_proof(
            "network",
            "the sandbox",
            lambda: confinement.enter_sandbox(confinement.WORKER_PROFILE),
            network,
        )
        return
    files: Attempts = {
        "read a file": secret.read_bytes,
        "write one": lambda: secret.write_bytes(b""),
        "make one": (folder / "new").touch,
        "list a folder": lambda: os.listdir(folder),
    }
    executable: Attempts = {
        "make memory executable": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_EXEC | mmap.PROT_READ)
    }
    yield _make_proof("files", f"Landlock, version {landlock.version()}", _restrict_files, files)
    yield _make_proof("system calls", "seccomp", _seal_process, {**calls, **executable})
    yield _make_proof("network", "a network namespace", _isolate_network, network)
    yield _make_proof("sockets", "seccomp", lambda: _install_worker_filter(parent), network)
    yield _make_proof(
        "children",
        "seccomp",
        lambda: _install_worker_filter(parent),
        {"leave the group": os.setsid},
    )


def _make_proof(name: str, means: str, confine: Callable[[], None], attempts: Attempts) -> Proof:
    came = {what: _run_attempt(confine, attempt) for what, attempt in attempts.items()}
    missing = next((reason for code, reason in came.values() if code == NOT_THERE), "")
    return Proof(
        name,
        means,
        tuple(what for what, (code, _) in came.items() if code in (REFUSED, TRAPPED)),
        tuple(what for what, (code, _) in came.items() if code not in (REFUSED, TRAPPED)),
        missing,
    )


def _run_attempt(confine: Callable[[], None], attempt: Callable[[], object]) -> tuple[int, str]:
    """Return the exit status and output of a process that confines itself, then tries `attempt`."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(_attempt_in_child(confine, attempt, writing))
    os.close(writing)
    with os.fdopen(reading) as said:
        words = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), words


def _attempt_in_child(confine: Callable[[], None], attempt: Callable[[], object], told: int) -> int:
    try:
        confine()
    except Unsupported as error:
        os.write(told, str(error).encode())
        return NOT_THERE
    try:
        attempt()
    except OSError:
        return REFUSED
    return DONE


def _restrict_files() -> None:
    with landlock.open_ruleset(list_executor_files()) as rules:
        landlock.restrict_thread(rules)


def _seal_process() -> None:
    held = seal()
    if not held.mechanisms:
        raise Unsupported("; ".join(held.missing))


def _isolate_network() -> None:
    if not privileges.isolate_network():
        raise Unsupported("namespaces: this user may not make any here")


def _install_worker_filter(parent: int) -> None:
    seccomp.install_filter(*seccomp.make_worker_policy(parent), every_thread=False)
