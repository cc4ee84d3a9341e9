"""Run a kernel under compute-sanitizer, and convert its reports to findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from metalbench import _core
from metalbench.checking.allowances import apply_suppressions, read_suppressions
from metalbench.checking.finding import Finding, Findings, Frame, merge_findings
from metalbench.checking.kinds import find_kind, parse_tools
from metalbench.checking.sanitizer.launch import (
    PROGRAM,
    SANITIZER_TOOLS,
    SanitizerLaunch,
    SanitizerRun,
    find_program,
    run_sanitizer,
)
from metalbench.checking.sanitizer.report import SanitizerReport, parse_reports
from metalbench.checking.subject import Subject, resolve_subject
from metalbench.errors import DeclarationError
from metalbench.kernel.guard import GUARD_BYTES
from metalbench.kernel.prepare import Compiled, compile_kernel
from metalbench.verify.place import Position


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
        kernel, sizes=sizes, buffers=buffers, folders=folders, include_dirs=include_dirs
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
    )
    found: list[Finding] = []
    for size, tool in product(what.sizes, tools):
        told = run_sanitizer(program, tool, launch(size=size), time_limit)
        found += _ReportReader(what, built, size, told).findings(time_limit)
    return _collect_findings(what, tools, found)


def _collect_findings(what: Subject, tools: Sequence[str], found: list[Finding]) -> Findings:
    source, file = what.kernel.source, str(what.kernel.path)
    known = [each for each in read_suppressions(source, file) if find_kind(each.kind).tool in tools]
    counting, allowed, unused = apply_suppressions(merge_findings(found), known, file)
    return Findings(
        kernel=what.kernel.name,
        sizes=what.sizes,
        tools=tuple(tools),
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        source=source,
    )


class _ReportReader:
    """Converts the reports of one run to findings with the user's buffers and files."""

    def __init__(self, what: Subject, built: Compiled, size: str, ran: SanitizerRun) -> None:
        self._what = what
        self._built = built
        self._size = size
        self._ran = ran

    def findings(self, time_limit: float) -> Iterator[Finding]:
        """Yield a finding for each report, and one for a kernel that has not ended."""
        for each in parse_reports(self._ran.text):
            yield self._to_finding(each)
        if not self._ran.ended:
            message = f"not ended after {time_limit:g} s under {PROGRAM}"
            yield self._finding("time-limit", message, 1, ())

    def _to_finding(self, report: SanitizerReport) -> Finding:
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
        arguments = [each for one in self._built.pipelines.values() for each in one.arguments]
        sizes = [each.element_bytes for each in arguments if each.name == buffer]
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
    ) -> Finding:
        # All kernels have the same entry name in their code.
        names = list(self._built.pipelines)
        kernel = names[0] if len(names) == 1 else ""
        dtype = self._built.dtype.name
        return Finding(kind, kernel, message, count, frames, self._size, dtype, element)


def _distance(address: int, begin: int, size: int) -> int:
    return max(begin - address, address - (begin + size) + 1, 0)


def _at(address: int | None) -> str:
    return "" if address is None else f" at address {address:#x}"


def _by(thread: Position | None, block: Position | None) -> str:
    return "" if thread is None else f" by thread {thread} of threadgroup {block}"
