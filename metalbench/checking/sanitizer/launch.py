"""Start one process under compute-sanitizer that runs a kernel once, and read its output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from metalbench.checking.subject import Subject, resolve_subject
from metalbench.errors import MachineError, Unsupported
from metalbench.kernel.bare import is_kernel_file

PROGRAM = "compute-sanitizer"
# NVIDIA's tool for each tool of `metalbench check`.
SANITIZER_TOOLS = {"mem": "memcheck", "race": "racecheck", "init": "initcheck", "sync": "synccheck"}
_INSTALLED = "nvidia/cu13/bin"
# Lines of output in the error if no kernel ran.
_MOST_LINES = 12


@dataclass(frozen=True)
class SanitizerLaunch:
    """The arguments of the process: a kernel as on the command line, at one size."""

    kernel: str
    size: str
    dtype: str
    tunables: Mapping[str, int]
    seed: int
    buffers: str | None
    folders: tuple[str, ...]
    include_dirs: tuple[str, ...]

    def subject(self) -> Subject:
        """Resolve the kernel and its task again."""
        return resolve_subject(
            self.kernel,
            sizes=() if is_kernel_file(self.kernel) else (self.size,),
            buffers=Path(self.buffers) if self.buffers else None,
            folders=[Path(each) for each in self.folders],
            include_dirs=[Path(each) for each in self.include_dirs],
        )


@dataclass(frozen=True)
class SanitizerRun:
    """The output of a process, and the buffers' addresses; `ended` is False at a timeout."""

    text: str
    buffers: Mapping[str, tuple[int, int]]
    ended: bool


def find_program() -> str:
    """Return the path of compute-sanitizer; raises Unsupported if it is missing."""
    beside = [str(Path(folder) / _INSTALLED) for folder in sys.path]
    found = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=os.pathsep.join(beside))
    if found is None:
        raise Unsupported(
            f"--tool {PROGRAM}: expected NVIDIA's {PROGRAM} on PATH, found none; "
            "`pip install nvidia-cuda-sanitizer-api`, or add the CUDA toolkit's bin folder to PATH"
        )
    return found


def run_sanitizer(
    program: str, tool: str, launch: SanitizerLaunch, time_limit: float
) -> SanitizerRun:
    """Run `launch` under `tool` for at most `time_limit` s.

    Raises MachineError if the process ends before the kernel has run.
    """
    with TemporaryDirectory(prefix="metalbench-") as folder:
        log, left = Path(folder) / "log", Path(folder) / "left"
        command = [
            *(program, "--tool", SANITIZER_TOOLS[tool], "--log-file", str(log)),
            *("--report-api-errors", "no", "--destroy-on-device-error", "kernel"),
            *("--print-limit", "0", "--target-processes", "application-only"),
            *(sys.executable, "-m", "metalbench.checking.sanitizer.child"),
            *(json.dumps(asdict(launch)), str(left)),
        ]
        ended, said = True, ""
        try:
            answer = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=time_limit
            )
            said = answer.stdout + answer.stderr
        except subprocess.TimeoutExpired:
            ended = False
        text = log.read_text(errors="replace") if log.is_file() else ""
        if ended and not left.is_file():
            lines = (text + said).strip().splitlines()[-_MOST_LINES:]
            raise MachineError(f"[{launch.kernel}] {PROGRAM} ran no kernel:\n" + "\n".join(lines))
        buffers = json.loads(left.read_text()) if left.is_file() else {}
        return SanitizerRun(text, {name: (at, size) for name, (at, size) in buffers.items()}, ended)
