"""Run clang or its linker with limits, and attribute failures to the kernel or to the machine."""

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

from metalbench import build_cache
from metalbench._core import CompileError, MachineError, OutOfMemoryError
from metalbench.msl.toolchain.compiler_pool import CompilationCancelledError, find_group
from metalbench.msl.toolchain.file_access import list_tool_files

# Limits of one run. The slowest known kernels need 5 s, a few megabytes and 0.5 GB.
TIME_LIMIT_S = 300
PROCESSOR_S = 120
OUTPUT_BYTES = 1 << 26
MEMORY_BYTES = 1 << 33
# Limits of the quoted output of a compiler that crashed.
_QUOTED_LINES = 10
_QUOTED_LINE_LENGTH = 200
# Messages of clang and its linker if memory or address space is exhausted.
WITHOUT_MEMORY = ("out of memory", "OutOfMemory", "bad_alloc", "Cannot allocate memory")


class CrashedError(CompileError):
    """A program was ended by a signal, or has an internal error."""


class TooSlowError(CompileError):
    """A program exceeded its limit of processor time."""


def run_tool(
    command: Sequence[str],
    text: str,
    folder: Path | None = None,
    *,
    reads: Sequence[str | Path] = (),
    writes: Sequence[str | Path] = (),
    processor_s: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program with `text` as its input in `folder`; return its result, also if it failed.

    Where the system supports it, the program can only open the files `reads`, files in the folders
    `writes`, and its installation.

    Raise MachineError if memory, disk or the program is missing, TooSlowError if it takes more than
    `processor_s` of processor time (default PROCESSOR_S), CompilationCancelledError if the thread's
    compilation is cancelled or Ctrl-C ends the program, and CompileError if it does not end or
    exceeds another limit.
    """
    find_group().check()
    processor_s = PROCESSOR_S if processor_s is None else processor_s
    from metalbench.sandbox.compiler_process import start_compiler

    program = shutil.which(command[0])
    if program is None:
        found = errno.EACCES if shutil.which(command[0], os.F_OK) else errno.ENOENT
        raise MachineError(f"{command[0]} cannot be run: {os.strerror(found)}")
    limited = _can_limit_memory()
    reach = list_tool_files(program, reads, writes)
    started = partial(
        start_compiler,
        _limit_command(command, processor_s, memory=limited),
        reach,
        cwd=folder,
        env=_make_environment(writes),
    )
    try:
        answer = subprocess.CompletedProcess(command, *_wait_for(started, text))
    except OSError as error:
        raise MachineError(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise CompileError(_format_limit(text, f"no result after {TIME_LIMIT_S} s")) from None
    if answer.returncode != 0:
        find_group().check()
        # A terminal sends Ctrl-C to the program, too. Its failure says nothing about its input.
        if signal.SIGINT in {-answer.returncode, answer.returncode - 128}:
            raise CompilationCancelledError(f"{command[0]} was interrupted")
        _raise_limit_errors(text, answer, processor_s, limited=limited)
        _raise_machine_errors(command[0], answer)
    return answer


def _wait_for(start: Callable[..., subprocess.Popen[bytes]], text: str) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of a process that reads `text`."""
    # An endless output fills a file, not this process's memory.
    with tempfile.TemporaryFile() as written:
        pipes = {"stdin": subprocess.PIPE, "stdout": written, "stderr": subprocess.PIPE}
        with start(**pipes) as process:
            try:
                data = text.encode(errors="surrogateescape")
                with find_group().track(process):
                    _, told = process.communicate(data, TIME_LIMIT_S)
            except BaseException:
                process.kill()
                raise
        written.seek(0)
        said = written.read()
    return process.returncode, said.decode(errors="replace"), told.decode(errors="replace")


def _can_limit_memory() -> bool:
    """Return whether this process's memory limit is higher than MEMORY_BYTES."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return soft == resource.RLIM_INFINITY or soft > MEMORY_BYTES


def _make_environment(writes: Sequence[str | Path]) -> dict[str, str]:
    """Return our environment, with caches of ziglang's macOS linker in a writable folder."""
    own = dict(os.environ)
    if writes and sys.platform == "linux":
        own |= dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(writes[0]))
    return own


def _limit_command(command: Sequence[str], processor_s: int, *, memory: bool) -> list[str]:
    """Return the command behind a shell that limits processor time, file size and memory."""
    # Only the soft limit of time: the hard one kills like a lack of memory does.
    limits = f"ulimit -c 0; ulimit -S -t {processor_s}; ulimit -f {OUTPUT_BYTES // 512}; "
    if memory:
        # macOS does not have this limit and prints an error.
        limits += f"ulimit -v {MEMORY_BYTES // 1024} 2>/dev/null; "
    return ["/bin/sh", "-c", limits + 'exec "$0" "$@"', *command]


def _raise_limit_errors(
    text: str,
    answer: subprocess.CompletedProcess[str],
    processor_s: int,
    *,
    limited: bool,
) -> None:
    """Raise CompileError if one of our limits ended the program."""
    ended_by = {-answer.returncode, answer.returncode - 128}
    if signal.SIGXCPU in ended_by:
        raise TooSlowError(
            _format_limit(text, f"no result after {processor_s} s of processor time")
        )
    if signal.SIGXFSZ in ended_by:
        raise CompileError(_format_limit(text, f"more than {OUTPUT_BYTES >> 20} MiB of output"))
    if limited and _read_peak_memory() > MEMORY_BYTES // 2 and _is_out_of_memory(answer.stderr):
        raise CompileError(_format_limit(text, f"more than {MEMORY_BYTES >> 30} GiB of memory"))


def _is_out_of_memory(said: str) -> bool:
    return any(word in said for word in WITHOUT_MEMORY)


def _read_peak_memory() -> int:
    """Return the peak memory of any child process, in bytes."""
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _format_limit(text: str, what: str) -> str:
    """Return the message about a source that exceeds a limit of the compiler."""
    return (
        f"error: the source is too large to compile: {what} for {text.count(chr(10))} lines of the "
        "compiler's input; simplify the kernel, or split its longest function into several kernels"
    )


def has_crashed(answer: subprocess.CompletedProcess[str]) -> bool:
    """Return whether clang itself failed, independent of its input."""
    ended = answer.returncode < 0 or answer.returncode >= 128
    return ended or "PLEASE submit a bug report" in answer.stderr


def format_crash(answer: subprocess.CompletedProcess[str]) -> str:
    """Return the error message for a compiler that crashed on a source."""
    number = -answer.returncode if answer.returncode < 0 else answer.returncode - 128
    ended = f"exit status {answer.returncode}"
    if number in set(signal.Signals):
        ended = f"it ended by the signal {signal.Signals(number).name}"
    # A stack trace and the files of a bug report follow this line.
    said, _, _ = answer.stderr.partition("PLEASE submit a bug report")
    lines = [line[:_QUOTED_LINE_LENGTH] for line in said.strip().split("\n")[-_QUOTED_LINES:]]
    return (
        f"error: the compiler (clang) crashed on this source: {ended}; simplify the "
        "kernel: it may nest expressions, blocks or templates too deeply"
        + "".join(f"\n{line}" for line in lines if line)
    )


def _raise_machine_errors(program: str, answer: subprocess.CompletedProcess[str]) -> None:
    """Raise MachineError if a program failed for lack of disk space or memory."""
    said = answer.stderr
    full = next((word for word in build_cache.FULL if word in said), None)
    if full is not None:
        raise MachineError(build_cache.format_write_error(full))
    killed = answer.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    if killed or _is_out_of_memory(said):
        last = said.strip().rpartition("\n")[2] or "it was killed"
        raise OutOfMemoryError(
            f"{program}: memory does not suffice to compile: {last}; close other programs, or "
            "raise `ulimit -v`"
        )
