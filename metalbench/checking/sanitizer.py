"""Parse the output of compute-sanitizer.

The format is shown in https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer (2025.3): every
line begins with =========; a report is an unindented line with the indented lines after it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from metalbench import _core
from metalbench.checking.check import CheckSubject, resolve_subject
from metalbench.checking.findings import (
    CheckFinding,
    Findings,
    Frame,
    apply_suppressions,
    merge_findings,
    parse_tools,
)
from metalbench.errors import DeclarationError, MachineError, Unsupported
from metalbench.kernel.memory import GUARD_BYTES
from metalbench.kernel.prepare import Compiled, compile_kernel
from metalbench.kernel.standalone import is_kernel_file
from metalbench.verify.report import Position

_PREFIX = re.compile(r"^========= ?(.*)$", re.MULTILINE)
_ACCESS = re.compile(r"Invalid __(\w+)__ (atomic|read|write)\w* of size ([\d,]+) bytes")
_UNWRITTEN = re.compile(r"Uninitialized __(\w+)__ memory read of size ([\d,]+) bytes")
_RACE = re.compile(r"(?:ERROR|WARNING): Race reported between (\w+) access", re.IGNORECASE)
_OTHER_ACCESS = re.compile(r"and (\w+) access (at .*?)(?: \[([\d,]+) hazards?\])?$", re.MULTILINE)
_BARRIER = re.compile(r"Barrier error detected\. (.*)")
# A function, an offset in it, and a line if the code has line information.
_PLACE = re.compile(
    r"(?:\bat |Device Frame: ?)(?P<function>.+?)(?:\+|:)0x[0-9a-f]+"
    r"(?: in (?P<file>.+?):(?P<line>\d+))?(?:\s|$)"
)
_WHO = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
# The words before the address differ between versions.
_ADDRESS = re.compile(r"Address (0x[0-9a-f]+)|(0x[0-9a-f]+) is (?:out of bounds|misaligned)")


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """One report: the access `what`, its `memory` ("global", "shared", "local") and its thread.

    `kind` is the finding's kind. `other` is the access of the other thread of a race.
    """

    kind: str
    what: str
    memory: str
    frames: tuple[Frame, ...]
    address: int | None = None
    thread: Position | None = None
    block: Position | None = None
    other: str = ""
    other_frame: Frame | None = None
    count: int = 1


def parse_reports(text: str) -> list[SanitizerReport]:
    """Return the reports about kernels in the output, in order."""
    return [report for each in _split_blocks(text) if (report := _parse_report(each)) is not None]


def _split_blocks(text: str) -> Iterator[str]:
    """Yield each unindented line with the indented lines after it."""
    block: list[str] = []
    for found in _PREFIX.finditer(text):
        line = found[1]
        if line and not line.startswith(" ") and block:
            yield "\n".join(block)
            block = []
        if line:
            block.append(line)
    if block:
        yield "\n".join(block)


def _parse_report(block: str) -> SanitizerReport | None:
    head, _, rest = block.partition("\n")
    frames, address, who = _parse_frames(block), _ADDRESS.search(rest), _parse_positions(rest)
    at = int(address[1] or address[2], 16) if address else None
    if found := _ACCESS.search(head):
        kind = "misaligned" if "is misaligned" in rest else "out-of-bounds"
        what = f"{found[2]} of {_number(found[3])} bytes"
        return SanitizerReport(kind, what, found[1], frames, at, *who)
    if found := _UNWRITTEN.search(head):
        what = f"read of {_number(found[2])} bytes that nothing has written"
        return SanitizerReport("uninitialised", what, found[1], frames, at, *who)
    if found := _RACE.search(head):
        return _parse_race(found[1], frames, rest)
    if found := _BARRIER.search(head):
        return SanitizerReport(
            "barrier", found[1][:1].lower() + found[1][1:], "", frames, None, *who
        )
    return None


def _parse_race(access: str, frames: tuple[Frame, ...], rest: str) -> SanitizerReport:
    other = _OTHER_ACCESS.search(rest)
    frame = next(iter(_parse_frames(other[2])), None) if other else None
    count = _number(other[3] or "1") if other else 1
    said = other[1].lower() if other else ""
    first = frames[:1]
    return SanitizerReport(
        "race", access.lower(), "shared", first, other=said, other_frame=frame, count=count
    )


def _parse_frames(text: str) -> tuple[Frame, ...]:
    """Return the frames with known lines, innermost first."""
    return tuple(
        Frame(found["function"].removesuffix("()"), found["file"], int(found["line"]), 0)
        for found in _PLACE.finditer(text)
        if found["file"]
    )


def _parse_positions(text: str) -> tuple[Position | None, Position | None]:
    found = _WHO.search(text)
    if found is None:
        return None, None
    x, y, z, of_x, of_y, of_z = map(int, found.groups())
    return (x, y, z), (of_x, of_y, of_z)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


# Start one process under compute-sanitizer that runs a kernel once, and read its output.

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
    standard: str

    def subject(self) -> CheckSubject:
        """Resolve the kernel and its task again."""
        return resolve_subject(
            self.kernel,
            sizes=() if is_kernel_file(self.kernel) else (self.size,),
            buffers=Path(self.buffers) if self.buffers else None,
            folders=[Path(each) for each in self.folders],
            include_dirs=[Path(each) for each in self.include_dirs],
            standard=self.standard,
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
            *(sys.executable, "-m", "metalbench.checking.sanitizer_child"),
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


# Run a kernel under compute-sanitizer, and convert its reports to findings.


def parse_sanitizer_tools(names: Sequence[str], device: str) -> tuple[str, ...] | None:
    """Return the tools of `--tool compute-sanitizer`, by default all four; None without it.

    Raises DeclarationError if it does not fit the device.
    """
    said = [part.strip() for name in names for part in name.split(",")]
    if PROGRAM not in said:
        if device == "cuda":
            raise DeclarationError(
                f"--device cuda: expected --tool {PROGRAM}, got {','.join(said)}; checked builds "
                "are the cpu device's: leave --device out"
            )
        return None
    if device != "cuda":
        raise DeclarationError(
            f"--tool {PROGRAM}: expected --device cuda, got {device}; it looks at kernels on "
            "NVIDIA's GPUs"
        )
    chosen = parse_tools(each for each in said if each != PROGRAM)
    if rest := [
        each for each in said if each != PROGRAM and each in chosen and each not in SANITIZER_TOOLS
    ]:
        raise DeclarationError(
            f"--tool {PROGRAM}: it has no {rest[0]}; name {', '.join(SANITIZER_TOOLS)}"
        )
    return tuple(each for each in chosen if each in SANITIZER_TOOLS)


def check_sanitized(
    kernel: str | Path,
    *,
    tools: Sequence[str] = tuple(SANITIZER_TOOLS),
    sizes: Sequence[str] = (),
    dtype: str | None = None,
    buffers: Path | None = None,
    tunables: Mapping[str, int] | None = None,
    folders: Sequence[Path] = (),
    include_dirs: Sequence[Path] = (),
    standard: str = "",
    seed: int = 0,
    time_limit: float,
) -> Findings:
    """Run a kernel on an NVIDIA GPU under compute-sanitizer, once for each size and tool.

    Arguments are those of `check`; `tools` are "mem", "race", "init" and "sync". `time_limit` is in
    seconds for each run. Raises Unsupported if GPU or program are missing, CompileError, and
    MachineError if compute-sanitizer runs no kernel.
    """
    program = find_program()
    what = resolve_subject(
        kernel,
        sizes=sizes,
        buffers=buffers,
        folders=folders,
        include_dirs=include_dirs,
        standard=standard,
    )
    element = dtype or what.kernel.dtypes[0]
    built = compile_kernel(
        _core.open("cuda"), what.kernel, what.task, dtype_name=element, tunables=tunables
    )
    launch = partial(
        SanitizerLaunch,
        kernel=str(kernel),
        dtype=element,
        tunables=dict(tunables or {}),
        seed=seed,
        buffers=str(buffers) if buffers else None,
        folders=tuple(map(str, folders)),
        include_dirs=tuple(map(str, include_dirs)),
        standard=standard,
    )
    found: list[CheckFinding] = []
    for size, tool in product(what.sizes, tools):
        told = run_sanitizer(program, tool, launch(size=size), time_limit)
        found += _ReportReader(what, built, size, told).findings(time_limit)
    return _collect_findings(what, tools, found)


def _collect_findings(
    what: CheckSubject, tools: Sequence[str], found: list[CheckFinding]
) -> Findings:
    kernel = what.kernel
    counting, allowed, unused = apply_suppressions(
        merge_findings(found), kernel.source, kernel.path, tools, kernel.include_dirs
    )
    return Findings(
        kernel=what.kernel.name,
        sizes=what.sizes,
        tools=tuple(tools),
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        source=kernel.source,
    )


class _ReportReader:
    """Converts the reports of one run to findings with the user's buffers and files."""

    def __init__(self, what: CheckSubject, built: Compiled, size: str, ran: SanitizerRun) -> None:
        self._what = what
        self._built = built
        self._size = size
        self._ran = ran

    def findings(self, time_limit: float) -> Iterator[CheckFinding]:
        """Yield a finding for each report, and one for a kernel that has not ended."""
        for each in parse_reports(self._ran.text):
            yield self._to_finding(each)
        if not self._ran.ended:
            message = f"not ended after {time_limit:g} s under {PROGRAM}"
            yield self._finding("time-limit", message, 1, ())

    def _to_finding(self, report: SanitizerReport) -> CheckFinding:
        frames = tuple(self._frame(each) for each in report.frames)
        kind, message, element = report.kind, report.what, None
        if kind == "race":
            message = self._race(report)
        elif report.memory in ("shared", "local"):
            memory = {"shared": "threadgroup memory", "local": "a thread's own memory"}
            message += f" in {memory[report.memory]}" + _at(report.address)
        elif report.address is not None:
            kind, message, element = self._locate_access(report, report.address)
        message += _by(report.thread, report.block)
        return self._finding(kind, message, report.count, frames, element)

    def _race(self, report: SanitizerReport) -> str:
        message = f"race in threadgroup memory: {report.what} and {report.other}"
        other = report.other_frame and self._frame(report.other_frame)
        return message + (f"; the other access is at {other.file}:{other.line}" if other else "")

    def _locate_access(self, report: SanitizerReport, address: int) -> tuple[str, str, int | None]:
        """Return the kind, the message with the buffer, and the element of an access."""
        near = min(
            self._ran.buffers,
            key=lambda name: _distance(address, *self._ran.buffers[name]),
            default=None,
        )
        if near is None or _distance(address, *self._ran.buffers[near]) > GUARD_BYTES:
            kind = "wild-pointer" if report.kind == "out-of-bounds" else report.kind
            return kind, report.what + _at(address), None
        begin, size = self._ran.buffers[near]
        at, element = address - begin, self._element(near, address - begin)
        if at < 0:
            return report.kind, f"{report.what} that begins {-at} bytes before `{near}`", element
        past = " past the end" if at >= size else ""
        return report.kind, f"{report.what}{past} of `{near}`: at byte {at} of {size}", element

    def _element(self, buffer: str, byte: int) -> int | None:
        sizes = [
            each.element_bytes
            for line in self._built.kernel.dispatches
            for each in self._built.pipelines[line.function].arguments
            if line.find_source(each.name) == buffer
        ]
        return byte // sizes[0] if sizes and sizes[0] else None

    def _frame(self, told: Frame) -> Frame:
        """Return the frame with the kernel's file as the user knows it."""
        path = self._what.kernel.path
        own = Path(told.file).name == path.name
        return Frame("", str(path) if own else told.file, told.line, told.column)

    def _finding(
        self,
        kind: str,
        message: str,
        count: int,
        frames: tuple[Frame, ...],
        element: int | None = None,
    ) -> CheckFinding:
        # All kernels have the same entry name in their code.
        names = list(self._built.pipelines)
        kernel = names[0] if len(names) == 1 else ""
        dtype = self._built.dtype.name
        return CheckFinding(kind, kernel, message, count, frames, self._size, dtype, element)


def _distance(address: int, begin: int, size: int) -> int:
    return max(begin - address, address - (begin + size) + 1, 0)


def _at(address: int | None) -> str:
    return "" if address is None else f" at address {address:#x}"


def _by(thread: Position | None, block: Position | None) -> str:
    return "" if thread is None else f" by thread {thread} of threadgroup {block}"
