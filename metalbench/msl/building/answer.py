"""One run of clang or of its linker: what it answers, unless the machine is at fault."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from metalbench._core import CompileError, MachineError, OutOfMemoryError
from metalbench.msl.building import cache
from metalbench.msl.building.reach import list_tool_files

# Of one run. The slowest kernels known take five seconds, a few megabytes and half a gigabyte.
TIME_LIMIT_S = 300
PROCESSOR_S = 120
OUTPUT_BYTES = 1 << 26
MEMORY_BYTES = 1 << 33
# What is shown of what a compiler said before it crashed.
_SHOWN_LINES = 10
_SHOWN_OF_A_LINE = 200
# What clang and its linker say when memory or address space does not suffice.
WITHOUT_MEMORY = ("out of memory", "OutOfMemory", "bad_alloc", "Cannot allocate memory")


class CrashedError(CompileError):
    """A program ended by a signal, or failed in a way that is its own."""


class TooSlowError(CompileError):
    """A program took more processor time than it may."""


def run_tool(
    command: Sequence[str],
    text: str,
    folder: Path | None = None,
    *,
    reads: Sequence[str | Path] = (),
    writes: Sequence[str | Path] = (),
    processor_s: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program with `text` as its input, in `folder`; its answer may be that it failed.

    It opens no files but those that it `reads`, those in folders that it `writes` to, and its own,
    where the system can hold it to that.

    Raises MachineError where memory, disk or the program itself is missing, TooSlowError when it
    takes more than `processor_s` of processor time (PROCESSOR_S by default), and CompileError when
    it does not end, or takes more of the machine than any kernel is worth.
    """
    processor_s = PROCESSOR_S if processor_s is None else processor_s
    from metalbench.isolation.confinement.start import start_compiler

    program = shutil.which(command[0])
    if program is None:
        found = errno.EACCES if shutil.which(command[0], os.F_OK) else errno.ENOENT
        raise MachineError(f"{command[0]} cannot be run: {os.strerror(found)}")
    limited = _own_memory_limit()
    reach = list_tool_files(program, reads, writes)
    started = partial(
        start_compiler,
        _within_limits(command, processor_s, memory=limited),
        reach,
        cwd=folder,
        env=_environment(writes),
    )
    try:
        answer = subprocess.CompletedProcess(command, *_ended(started, text))
    except OSError as error:
        raise MachineError(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise CompileError(_too_much(command, f"no result after {TIME_LIMIT_S} s")) from None
    if answer.returncode != 0:
        _blame_the_kernel(command, answer, processor_s, limited=limited)
        _blame_the_machine(command[0], answer)
    return answer


def _ended(start: Callable[..., subprocess.Popen[bytes]], text: str) -> tuple[int, str, str]:
    """The exit code of a process given `text`, and what it wrote to standard output and error."""
    # A file, and not memory of this process, is what a text without end fills.
    with tempfile.TemporaryFile() as written:
        pipes = {"stdin": subprocess.PIPE, "stdout": written, "stderr": subprocess.PIPE}
        with start(**pipes) as process:
            try:
                data = text.encode(errors="surrogateescape")
                _, told = process.communicate(data, TIME_LIMIT_S)
            except BaseException:
                process.kill()
                raise
        written.seek(0)
        said = written.read()
    return process.returncode, said.decode(errors="replace"), told.decode(errors="replace")


def _own_memory_limit() -> bool:
    """Whether a program may be limited further than this process is."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return soft == resource.RLIM_INFINITY or soft > MEMORY_BYTES


def _environment(writes: Sequence[str | Path]) -> dict[str, str]:
    """Ours, in which ziglang's linker for macOS keeps what it makes where it may write."""
    own = dict(os.environ)
    if writes and sys.platform == "linux":
        own |= dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(writes[0]))
    return own


def _within_limits(command: Sequence[str], processor_s: int, *, memory: bool) -> list[str]:
    """The command, run by a shell that limits it first: processor time, files and memory."""
    # The soft limit of time alone: at the hard one there is no telling it from a lack of memory.
    limits = f"ulimit -c 0; ulimit -S -t {processor_s}; ulimit -f {OUTPUT_BYTES // 512}; "
    if memory:
        # macOS has no such limit, and says so.
        limits += f"ulimit -v {MEMORY_BYTES // 1024} 2>/dev/null; "
    return ["/bin/sh", "-c", limits + 'exec "$0" "$@"', *command]


def _blame_the_kernel(
    command: Sequence[str],
    answer: subprocess.CompletedProcess[str],
    processor_s: int,
    *,
    limited: bool,
) -> None:
    """Raise CompileError where one of our own limits has ended a program."""
    ended_by = {-answer.returncode, answer.returncode - 128}
    if signal.SIGXCPU in ended_by:
        raise TooSlowError(_too_much(command, f"no result after {processor_s} s of processor time"))
    if signal.SIGXFSZ in ended_by:
        raise CompileError(_too_much(command, f"more than {OUTPUT_BYTES >> 20} MiB of output"))
    if limited and _most_memory() > MEMORY_BYTES // 2 and _lacked_memory(answer.stderr):
        raise CompileError(_too_much(command, f"more than {MEMORY_BYTES >> 30} GiB of memory"))


def _lacked_memory(said: str) -> bool:
    return any(word in said for word in WITHOUT_MEMORY)


def _most_memory() -> int:
    """The most that any program started here has held, in bytes."""
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _too_much(command: Sequence[str], what: str) -> str:
    return f"{Path(command[0]).name}: {what}; simplify the kernel"


def has_crashed(answer: subprocess.CompletedProcess[str]) -> bool:
    """Whether clang itself failed, whatever it was given."""
    ended = answer.returncode < 0 or answer.returncode >= 128
    return ended or "PLEASE submit a bug report" in answer.stderr


def format_crash(answer: subprocess.CompletedProcess[str]) -> str:
    """Return the message about a compiler that crashed on a source."""
    number = -answer.returncode if answer.returncode < 0 else answer.returncode - 128
    ended = f"exit status {answer.returncode}"
    if number in set(signal.Signals):
        ended = f"it ended by the signal {signal.Signals(number).name}"
    # Behind this line stand a stack trace and the files of a report to the makers of clang.
    said, _, _ = answer.stderr.partition("PLEASE submit a bug report")
    lines = [line[:_SHOWN_OF_A_LINE] for line in said.strip().split("\n")[-_SHOWN_LINES:]]
    return (
        f"error: the compiler (clang) crashed on this source: {ended}; simplify the "
        "kernel: it may nest expressions, blocks or templates too deeply"
        + "".join(f"\n{line}" for line in lines if line)
    )


def _blame_the_machine(program: str, answer: subprocess.CompletedProcess[str]) -> None:
    """Raise MachineError where a program failed for want of room: no kernel is to blame."""
    said = answer.stderr
    full = next((word for word in cache.FULL if word in said), None)
    if full is not None:
        raise MachineError(cache.format_write_error(full))
    killed = answer.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    if killed or _lacked_memory(said):
        last = said.strip().rpartition("\n")[2] or "it was killed"
        raise OutOfMemoryError(
            f"{program}: memory does not suffice to compile: {last}; close other programs, or "
            "raise `ulimit -v`"
        )
