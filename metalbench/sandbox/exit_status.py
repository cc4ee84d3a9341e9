"""Describe how a worker process ended."""

from __future__ import annotations

import re
import signal
import sys

from metalbench.errors import MachineError, OutOfMemoryError
from metalbench.finding_kinds import Kind
from metalbench.sandbox.seccomp import parse_refused_call

CAUSES = {
    "SIGSEGV": "it accessed memory outside its mappings, or its stack overflowed",
    "SIGBUS": "it accessed memory that does not exist",
    "SIGILL": "it executed an illegal instruction",
    "SIGFPE": "an arithmetic fault, such as an integer division by zero",
    "SIGABRT": "it aborted",
    "SIGTRAP": "it reached a trap instruction",
    "SIGKILL": "killed from outside, as the system does when memory runs out",
    "SIGSYS": "it made a forbidden system call",
}
LINES = 12
# The package of MLX, by the system.
MLX = "mlx" if sys.platform == "darwin" else "'mlx[cpu]'"
# Texts of errors for exhausted memory, address space or threads.
NO_MEMORY_MESSAGES = (
    "MemoryError",
    "bad_alloc",
    "Cannot allocate memory",
    "can't start new thread",
    "failed to map segment",
)


class WorkerError(MachineError):
    """The process for a kernel could not be started. The kernel is not the cause."""


class WorkerExited(Exception):  # noqa: N818 - an event that becomes a finding
    """A worker ended without a result. `kind` and `message` describe the finding."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def make_exit_error(code: int, last_words: str) -> WorkerExited | MachineError:
    """Return the error for a process with exit status `code`, which printed `last_words`.

    A negative `code` is a signal number. A process without memory is not a fault of the kernel:
    kernels allocate their memory on the device.
    """
    if any(word in last_words for word in NO_MEMORY_MESSAGES):
        return OutOfMemoryError(
            "[isolation] memory does not suffice for a kernel's process; close other programs, or "
            f"raise `ulimit -v`{_quote_output(last_words)}"
        )

    kind = Kind.CRASH
    if code < 0:
        name = _name_signal(-code)
        call = parse_refused_call(last_words)
        tried = f" (it tried {call})" if name == "SIGSYS" and call else ""
        how = f"was ended by {name}: {CAUSES.get(name, 'sent from outside')}{tried}"
        if name == "SIGKILL":
            kind = Kind.OUT_OF_MEMORY
    else:
        how = f"ended with exit code {code} and no result"
    return WorkerExited(kind, f"the kernel's process {how}{_quote_output(last_words)}")


def make_timeout_error(seconds: float) -> WorkerExited:
    """Return the error for a trial that exceeded its time limit."""
    return WorkerExited(
        Kind.TIME_LIMIT,
        f"expected the whole trial to take at most {seconds:g} s, and it was not done by then; its "
        "process was ended. Does the kernel, or the task, loop for ever? If it only needs longer, "
        "raise --kernel-timeout",
    )


def make_memory_error(used: int, limit: int) -> WorkerExited:
    """Return the error for a process that holds more memory than its limit."""
    return WorkerExited(
        Kind.OUT_OF_MEMORY,
        f"expected at most {_format_bytes(limit)} of memory, and the kernel's process held "
        f"{_format_bytes(used)}; it was ended. Take a smaller --size, or raise --memory-limit",
    )


def make_protocol_error(reason: str) -> WorkerExited:
    """Return the error for a malformed message, as from a process with overwritten memory."""
    return WorkerExited(Kind.CRASH, f"the kernel's process sent an invalid result: {reason}")


def make_start_error(code: int, last_words: str) -> WorkerError:
    """Return the error for a process that ended before it received a kernel."""
    if re.search(r"No module named '?mlx\b", last_words):
        return WorkerError(f"MLX is missing; run `pip install {MLX}`, or see `metalbench doctor`")
    return WorkerError(
        f"[isolation] the process for the next kernel ended as it started, with code {code}"
        f"{_quote_output(last_words)}\n`metalbench doctor` says what is missing; `--in-process`, "
        "and metal_kernel without `sandbox`, do without processes"
    )


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _quote_output(words: str) -> str:
    if not words:
        return ""
    lines = words.splitlines()
    # The text of a fault is first, that of an exception last.
    fatal = next((i for i, line in enumerate(lines) if line.startswith("Fatal")), None)
    shown = lines[-LINES:] if fatal is None else lines[fatal : fatal + LINES]
    return "; its last words:\n" + "\n".join(f"  {line}" for line in shown)


def _format_bytes(size: int) -> str:
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"
