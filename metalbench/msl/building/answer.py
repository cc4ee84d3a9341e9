"""One run of clang or of its linker: what it answers, unless the machine is at fault."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from metalbench._core import CompileError, MachineError, OutOfMemoryError
from metalbench.msl.building import cache

TIME_LIMIT_S = 300
# What clang and its linker say when memory or address space does not suffice.
WITHOUT_MEMORY = ("out of memory", "OutOfMemory", "bad_alloc", "Cannot allocate memory")


def answer_of(
    command: Sequence[str], text: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program with `text` as its input, in `folder`; its answer may be that it failed.

    Raises MachineError where memory, disk or the program itself is missing, and CompileError when
    it does not end.
    """
    try:
        answer = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd=folder,
            timeout=TIME_LIMIT_S,
        )
    except OSError as error:
        raise MachineError(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise CompileError(
            f"{Path(command[0]).name}: no result after {TIME_LIMIT_S} s; simplify the kernel"
        ) from None
    if answer.returncode != 0:
        _blame_the_machine(command[0], answer)
    return answer


def crashed(answer: subprocess.CompletedProcess[str]) -> bool:
    """Whether clang itself failed, whatever it was given."""
    ended = answer.returncode < 0 or answer.returncode >= 128
    return ended or "PLEASE submit a bug report" in answer.stderr


def _blame_the_machine(program: str, answer: subprocess.CompletedProcess[str]) -> None:
    """Raise MachineError where a program failed for want of room: no kernel is to blame."""
    said = answer.stderr
    full = next((word for word in cache.FULL if word in said), None)
    if full is not None:
        raise MachineError(cache.unwritable(full))
    killed = answer.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    if killed or any(word in said for word in WITHOUT_MEMORY):
        last = said.strip().rpartition("\n")[2] or "it was killed"
        raise OutOfMemoryError(
            f"{program}: memory does not suffice to compile: {last}; close other programs, or "
            "raise `ulimit -v`"
        )
