"""From how a worker ended to words about it."""

from __future__ import annotations

import re
import signal
import sys

from metalbench.errors import MachineError, OutOfMemoryError
from metalbench.isolation.confinement import parse_refused_call
from metalbench.kind import Kind

CAUSES = {
    "SIGSEGV": "it touched memory that is not its own, or its stack overflowed",
    "SIGBUS": "it touched memory that is not there",
    "SIGILL": "it ran what is no instruction",
    "SIGFPE": "an arithmetic fault, as of an integer division by zero",
    "SIGABRT": "it gave up by itself",
    "SIGTRAP": "it ran into a trap",
    "SIGKILL": "killed from outside, as the system does when memory runs out",
    "SIGSYS": "it asked the system for what it may not do",
}
LINES = 12
# The package of MLX, by the system.
MLX = "mlx" if sys.platform == "darwin" else "'mlx[cpu]'"
# What those say who find no memory, address space or thread any more.
NO_MEMORY_MESSAGES = (
    "MemoryError",
    "bad_alloc",
    "Cannot allocate memory",
    "can't start new thread",
    "failed to map segment",
)


class WorkerError(MachineError):
    """The process for a kernel could not be made ready; no kernel is to blame."""


class WorkerExited(Exception):  # noqa: N818 - what happened, to be told as a finding
    """A worker ended without a result: `kind` of the finding, and the message."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def make_exit_error(code: int, last_words: str) -> WorkerExited | MachineError:
    """A process that ended with `wait_for_exit`, negative for a signal, having printed `read_output_tail`.

    That it found no memory is no kernel's fault: its own memory kernels get from the device.
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
    """A trial that took longer than it may."""
    return WorkerExited(
        Kind.TIME_LIMIT,
        f"expected the whole trial to take at most {seconds:g} s, and it was not done by then; its "
        "process was ended. Does the kernel, or the task, loop for ever? If it only needs longer, "
        "raise --kernel-timeout",
    )


def make_memory_error(used: int, limit: int) -> WorkerExited:
    """A process that holds more memory than it may."""
    return WorkerExited(
        Kind.OUT_OF_MEMORY,
        f"expected at most {_format_bytes(limit)} of memory, and the kernel's process held {_format_bytes(used)}; "
        "it was ended. Take a smaller --size, or raise --memory-limit",
    )


def make_protocol_error(reason: str) -> WorkerExited:
    """A process that sent what cannot be, as one whose memory a kernel has overwritten."""
    return WorkerExited(Kind.CRASH, f"the kernel's process sent what is no result: {reason}")


def make_start_error(code: int, last_words: str) -> WorkerError:
    """A process that ended before it knew of any kernel."""
    if re.search(r"No module named '?mlx\b", last_words):
        return WorkerError(f"MLX is missing; run `pip install {MLX}`, or see `metalbench doctor`")
    return WorkerError(
        f"[isolation] the process for the next kernel ended as it started, with code {code}"
        f"{_quote_output(last_words)}\n`metalbench doctor` says what is missing; `--in-process`, and "
        "metal_kernel without `sandbox`, do without processes"
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
    # A fault's own words come first, an exception's last.
    fatal = next((i for i, line in enumerate(lines) if line.startswith("Fatal")), None)
    shown = lines[-LINES:] if fatal is None else lines[fatal : fatal + LINES]
    return "; its last words:\n" + "\n".join(f"  {line}" for line in shown)


def _format_bytes(size: int) -> str:
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"
