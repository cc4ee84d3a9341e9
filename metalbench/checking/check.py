"""One kernel's checked runs, in a process that has nothing but the kernel and its buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from metalbench import _core
from metalbench.checking.allowances import allowances, sorted_out
from metalbench.checking.finding import Finding, Findings, Frame, folded
from metalbench.checking.kinds import ALL, kind_named, tools_of
from metalbench.checking.subject import Subject, subject
from metalbench.checking.unwritten import declared, unwritten
from metalbench.errors import KernelDied
from metalbench.isolation.sandbox import sandboxed_device
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.task.workload import workload

SECONDS = 60.0


def check(
    kernel: str | Path,
    *,
    tools: str | Sequence[str] = (ALL,),
    sizes: Sequence[str] = (),
    dtype: str | None = None,
    buffers: Path | None = None,
    tunables: Mapping[str, int] | None = None,
    folders: Sequence[Path] = (),
    include_dirs: Sequence[Path] = (),
    seed: int = 0,
    time_limit: float = SECONDS,
) -> Findings:
    """Run a kernel's checked build, and return all that is wrong with it.

    Parameters
    ----------
    kernel
        NAME of a task of the library or of `folders`; or FILE.metal whose `// buffer:` lines, or
        the arrays in the file `buffers`, say what it takes.
    tools
        Which findings count: "mem", "race", "init", "sync", "arithmetic"; "all" for every one.
    sizes, dtype, seed
        Of a task: its small sizes and the kernel's first element type, if none are given.
    tunables, include_dirs
        Values of `// tune:` lines, else their first ones; where to look for includes.
    time_limit
        Seconds for one size.

    Raises CompileError, and DeclarationError or DispatchError if lines, arguments or sizes are
    wrong. Of a kernel there is never an exception: what it does is a finding.
    """
    wanted = tools_of([tools] if isinstance(tools, str) else tools)
    what = subject(kernel, sizes=sizes, buffers=buffers, folders=folders, include_dirs=include_dirs)
    file = str(what.kernel.path)
    known = [
        each
        for each in allowances(what.kernel.source, file)
        if kind_named(each.kind).tool in wanted
    ]
    built = compile_kernel(
        sandboxed_device(),
        what.kernel,
        what.task,
        dtype_name=dtype or what.kernel.dtypes[0],
        tunables=tunables,
        checked=True,
        tools=wanted,
    )
    found = [
        finding
        for size in what.sizes
        for finding in _Run(what, built, size, seed).findings(time_limit)
        if finding.of.tool in wanted
    ]
    counting, allowed, unused = sorted_out(folded(found), known, file)
    return Findings(
        kernel=what.kernel.name,
        sizes=what.sizes,
        tools=wanted,
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        source=what.kernel.source,
    )


class _Run:
    """One size of a kernel."""

    def __init__(self, what: Subject, built: Compiled, size: str, seed: int) -> None:
        self._what = what
        self._built = built
        self._size = size
        self._seed = seed

    def findings(self, time_limit: float) -> list[Finding]:
        """Run it once, and say what was wrong."""
        built = self._built
        work = workload(built.task, self._size, dtype_name=built.dtype.name, seed=self._seed)
        bound = built.bind(work)
        bound.poison()
        bound.mark_unwritten()
        inputs = [name for name in bound.inputs if name not in self._what.inout]
        try:
            told = built.device.check(bound.dispatches, inputs=inputs, time_limit=time_limit)
        except KernelDied as error:
            return [self._finding("fault", "", str(error), 1, ())]
        found = [self._of(each) for each in told]
        if any(each.severity == "error" for each in found):
            # What a thread has not done that was stopped is no news.
            return found
        return [*found, *self._unwritten(bound)]

    def _of(self, told: _core.Finding) -> Finding:
        frames = tuple(
            Frame(each.function, self._file(each.file), each.line, each.column)
            for each in told.frames
        )
        return self._finding(told.rule, told.kernel, told.message, told.count, frames)

    def _file(self, told: str) -> str:
        """A file's path as the user knows it."""
        path = self._what.kernel.path
        beside = path.parent / told
        return (
            str(path) if Path(told).name == path.name else str(beside if beside.is_file() else told)
        )

    def _finding(
        self, kind: str, kernel: str, message: str, count: int, frames: tuple[Frame, ...]
    ) -> Finding:
        finding = Finding(kind, kernel, message, count, frames, self._size, self._built.dtype.name)
        place = finding.told
        return replace(finding, element=self._element(kernel, place.buffer, place.byte))

    def _element(self, kernel: str, buffer: str | None, byte: int | None) -> int | None:
        pipeline = self._built.pipelines.get(kernel)
        if pipeline is None or byte is None:
            return None
        sizes = [each.element_bytes for each in pipeline.arguments if each.name == buffer]
        return byte // sizes[0] if sizes and sizes[0] else None

    def _unwritten(self, bound: Bound) -> Iterator[Finding]:
        for name, message in unwritten(bound):
            kernel = next(
                each.name
                for each in self._built.pipelines.values()
                if name in [argument.name for argument in each.arguments]
            )
            source, file = self._what.kernel.source, str(self._what.kernel.path)
            frame = declared(source, file, kernel, name)
            yield self._finding("output-not-written", kernel, message, 1, (frame,))
