"""A kernel's runs under compute-sanitizer, and what it reports as findings of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from metalbench import _core
from metalbench.checking.allowances import allowances, sorted_out
from metalbench.checking.finding import Finding, Findings, Frame, folded
from metalbench.checking.kinds import kind_named, tools_of
from metalbench.checking.sanitizer.launch import PROGRAM, TOOLS, Launch, Ran, find_program, run
from metalbench.checking.sanitizer.report import Report, reports
from metalbench.checking.subject import Subject, subject
from metalbench.errors import DeclarationError
from metalbench.kernel.guard import GUARD_BYTES
from metalbench.kernel.prepare import Compiled, compile_kernel
from metalbench.verify.place import Position


def sanitizer_tools(names: Sequence[str], device: str) -> tuple[str, ...] | None:
    """Those of ours that `--tool compute-sanitizer` means, all four if alone; None without it.

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
    chosen = tools_of(each for each in said if each != PROGRAM)
    if rest := [each for each in said if each != PROGRAM and each in chosen and each not in TOOLS]:
        raise DeclarationError(f"--tool {PROGRAM}: it has no {rest[0]}; name {', '.join(TOOLS)}")
    return tuple(each for each in chosen if each in TOOLS)


def check_sanitized(
    kernel: str | Path,
    *,
    tools: Sequence[str] = tuple(TOOLS),
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

    Arguments are those of `check`; `tools` are "mem", "race", "init" and "sync", and each run may
    take `time_limit` s. Raises Unsupported where GPU or program are missing, CompileError, and
    MachineError if compute-sanitizer runs no kernel.
    """
    program = find_program()
    what = subject(kernel, sizes=sizes, buffers=buffers, folders=folders, include_dirs=include_dirs)
    element = dtype or what.kernel.dtypes[0]
    built = compile_kernel(
        _core.open("cuda"), what.kernel, what.task, dtype_name=element, tunables=tunables
    )
    launch = partial(
        Launch,
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
        told = run(program, tool, launch(size=size), time_limit)
        found += _Told(what, built, size, told).findings(time_limit)
    return _sorted(what, tools, found)


def _sorted(what: Subject, tools: Sequence[str], found: list[Finding]) -> Findings:
    source, file = what.kernel.source, str(what.kernel.path)
    known = [each for each in allowances(source, file) if kind_named(each.kind).tool in tools]
    counting, allowed, unused = sorted_out(folded(found), known, file)
    return Findings(
        kernel=what.kernel.name,
        sizes=what.sizes,
        tools=tuple(tools),
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        source=source,
    )


class _Told:
    """What one run's text says, with the names of the user's buffers and files."""

    def __init__(self, what: Subject, built: Compiled, size: str, ran: Ran) -> None:
        self._what = what
        self._built = built
        self._size = size
        self._ran = ran

    def findings(self, time_limit: float) -> Iterator[Finding]:
        """Each report once; a kernel that has not ended is one more."""
        for each in reports(self._ran.text):
            yield self._of(each)
        if not self._ran.ended:
            message = f"not ended after {time_limit:g} s under {PROGRAM}"
            yield self._finding("time-limit", message, 1, ())

    def _of(self, report: Report) -> Finding:
        frames = tuple(self._frame(each) for each in report.frames)
        kind, message, element = report.kind, report.what, None
        if kind == "race":
            message = self._race(report)
        elif report.memory in ("shared", "local"):
            memory = {"shared": "threadgroup memory", "local": "a thread's own memory"}
            message += f" in {memory[report.memory]}" + _at(report.address)
        elif report.address is not None:
            kind, message, element = self._placed(report, report.address)
        message += _by(report.thread, report.block)
        return self._finding(kind, message, report.count, frames, element)

    def _race(self, report: Report) -> str:
        message = f"race in threadgroup memory: {report.what} and {report.other}"
        other = report.other_frame and self._frame(report.other_frame)
        return message + (f"; the other access is at {other.file}:{other.line}" if other else "")

    def _placed(self, report: Report, address: int) -> tuple[str, str, int | None]:
        """The kind, and what was done to which of the kernel's buffers, and to which element."""
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
        """The same with the kernel's own file as the user knows it."""
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
        # The code of every kernel has one entry, whose name says nothing.
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
