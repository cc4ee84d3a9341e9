"""Run the checked build of a kernel, of the library or of a file, and collect its findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench import _core
from metalbench.checking.findings import (
    ALL,
    PERFORMANCE,
    TENSOR,
    CheckFinding,
    Findings,
    Frame,
    apply_suppressions,
    merge_findings,
    parse_tools,
    read_suppressions,
)
from metalbench.checking.performance import lint_kernel
from metalbench.checking.tensor_layouts import check_layouts
from metalbench.errors import DeclarationError, KernelDied
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import find_kernel
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.kernel.standalone import is_kernel_file, read_standalone_kernel
from metalbench.kernel.textures import pixel_format
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.task import Task
from metalbench.task.workload import workload
from metalbench.verify.flow import small_sizes

if TYPE_CHECKING:
    from metalbench._core import Device


@dataclass(frozen=True)
class CheckSubject:
    """A kernel, the task that declares its arguments, and the inputs that it may write."""

    kernel: Kernel
    task: Task
    sizes: tuple[str, ...]
    inout: frozenset[str] = frozenset()
    # The size whose dispatches the static tool judges.
    launch_size: str = ""


def resolve_subject(
    named: str | Path,
    *,
    sizes: Sequence[str] = (),
    buffers: Path | None = None,
    folders: Sequence[Path] = (),
    include_dirs: Sequence[Path] = (),
    standard: str = "",
    dtype: str | None = None,
    task: str | None = None,
) -> CheckSubject:
    """Return the kernel with this name: NAME of a task, or FILE.metal with declaring lines.

    A file that is a kernel of `task` needs no such lines. Without `sizes`, the small sizes of a
    task. Raises DeclarationError if nothing has this name.
    """
    is_file = is_kernel_file(str(named))
    if task is not None and not is_file:
        raise DeclarationError(f"--task: expected a FILE.metal with it, got {named}")
    if task is not None or not is_file:
        if buffers is not None:
            raise DeclarationError(
                f"--buffers: expected a file without a task such as {named}.metal, got {named!r}, "
                "whose task draws the inputs"
            )
        found, known = find_kernel(named, task, folders, dtype=dtype, standard=standard)
        kernel = replace(found, include_dirs=tuple(include_dirs))
        for size in sizes:
            known.check_size(size)
        return CheckSubject(
            kernel,
            known,
            tuple(sizes) or tuple(small_sizes(known)),
            launch_size=sizes[0] if sizes else known.gpu_headlines[0],
        )
    if sizes:
        raise DeclarationError(
            f"--size: expected none with {named}, whose own lines say how large all is"
        )
    bare = read_standalone_kernel(Path(named), buffers)
    standard = standard or bare.kernel.standard
    kernel = replace(bare.kernel, include_dirs=tuple(include_dirs), standard=standard)
    return CheckSubject(kernel, bare.task, (bare.size,), bare.inout, bare.size)


# Find outputs that a checked run left unwritten, and their declarations.


def find_unwritten_outputs(bound: Bound) -> Iterator[tuple[str, str]]:
    """Yield the name of each output with unwritten elements, and a message."""
    for name, each in bound.own_outputs.items():
        missing, first = each.buffer.unwritten()
        if missing:
            texels = bound.workload.task.outputs[name].pixel_format
            size = each.dtype.nbytes * (pixel_format(texels).components if texels else 1)
            yield (
                name,
                f"{-(-missing // size)} of {each.nbytes // size} "
                f"{'texels' if texels else 'elements'} of `{name}` were never "
                f"written, the first at byte {first}",
            )


def find_declaration(source: str, file: str, kernel: str, argument: str) -> Frame:
    """Return the declaration of a kernel's argument in `source`; the first line if not found."""
    text = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), source)
    head = re.search(rf"\b{re.escape(kernel)}\s*\(", text)
    start = head.end() if head else 0
    found = re.search(rf"\b{re.escape(argument)}\b", text[start:])
    place = start + found.start() if found else 0
    line = text.count("\n", 0, place) + 1
    return Frame(kernel, file, line, place - text.rfind("\n", 0, place))


# One run of a checked build, with its findings in the user's files.


class CheckedRun:
    """A kernel in a checked build, at one size and seed of its task."""

    def __init__(self, what: CheckSubject, built: Compiled, size: str, seed: int) -> None:
        self._what = what
        self._built = built
        self._size = size
        self._seed = seed

    def findings(self, time_limit: float) -> list[CheckFinding]:
        """Run the kernel once and return its findings."""
        built = self._built
        work = workload(built.task, self._size, dtype_name=built.dtype.name, seed=self._seed)
        bound = built.bind(work)
        bound.poison()
        bound.mark_unwritten()
        inputs = [name for name in bound.inputs if name not in {*self._what.inout, *bound.inouts}]
        try:
            told = built.device.check(bound.dispatches, inputs=inputs, time_limit=time_limit)
        except KernelDied as error:
            return [self._finding("fault", "", str(error), 1, ())]
        found = [self._to_finding(each) for each in told]
        if any(each.severity == "error" for each in found):
            # A stopped thread has not written its outputs: those findings are not reported.
            return found
        return [*found, *self._unwritten(bound)]

    def _to_finding(self, told: _core.Finding) -> CheckFinding:
        frames = tuple(
            Frame(each.function, self._file(each.file), each.line, each.column)
            for each in told.frames
        )
        found = self._finding(told.rule, told.kernel, told.message, told.count, frames)
        return replace(found, places=told.places)

    def _file(self, told: str) -> str:
        """Return a file's path as the user knows it."""
        path = self._what.kernel.path
        beside = path.parent / told
        return (
            str(path) if Path(told).name == path.name else str(beside if beside.is_file() else told)
        )

    def _finding(
        self, kind: str, kernel: str, message: str, count: int, frames: tuple[Frame, ...]
    ) -> CheckFinding:
        finding = CheckFinding(
            kind, kernel, message, count, frames, self._size, self._built.dtype.name
        )
        place = finding.details
        return replace(finding, element=self._element(kernel, place.buffer, place.byte))

    def _element(self, kernel: str, buffer: str | None, byte: int | None) -> int | None:
        pipeline = self._built.pipelines.get(kernel)
        if pipeline is None or byte is None:
            return None
        sizes = [each.element_bytes for each in pipeline.arguments if each.name == buffer]
        return byte // sizes[0] if sizes and sizes[0] else None

    def _unwritten(self, bound: Bound) -> Iterator[CheckFinding]:
        for name, message in find_unwritten_outputs(bound):
            kernel, argument = next(
                (line.function, argument.name)
                for line in self._what.kernel.dispatches
                for argument in self._built.pipelines[line.function].arguments
                if line.find_source(argument.name) == name
            )
            source, file = self._what.kernel.source, str(self._what.kernel.path)
            frame = find_declaration(source, file, kernel, argument)
            yield self._finding("output-not-written", kernel, message, 1, (frame,))


# Run the checked build of one kernel, in a process with only the kernel and its buffers.

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
    standard: str = "",
    task: str | None = None,
    seed: int = 0,
    time_limit: float = SECONDS,
) -> Findings:
    """Run a kernel's checked build, for at most `time_limit` s a size; return all findings.

    Parameters
    ----------
    kernel
        NAME of a task of the library or of `folders`; or FILE.metal whose header declares its
        arguments, with the arrays in the file `buffers`; or FILE.metal that is a kernel of `task`.
    tools
        The tools to apply: "mem", "race", "init", "sync", "arithmetic", or "all" of these; and
        "performance", which compiles the kernel and does not run it; and "tensor", which runs it
        with each layout of cooperative tensors.
    sizes, dtype, seed
        Of a task: by default its small sizes and the kernel's first element type.
    tunables, include_dirs
        Values of `// tune:` lines, by default their first ones; folders of includes.
    standard
        Version of Metal's language, such as "metal4.0"; by default metal3.1.

    Raises CompileError, and DeclarationError or DispatchError if lines, arguments or sizes are
    wrong. A fault of the kernel is a finding, never an exception.
    """
    what = resolve_subject(
        kernel,
        sizes=sizes,
        buffers=buffers,
        folders=folders,
        include_dirs=include_dirs,
        standard=standard,
        dtype=dtype,
        task=task,
    )
    return check_subject(
        what,
        open_sandboxed_device(),
        parse_tools([tools] if isinstance(tools, str) else tools),
        dtype=dtype,
        tunables=tunables,
        seed=seed,
        time_limit=time_limit,
    )


def check_subject(
    what: CheckSubject,
    device: Device,
    tools: Sequence[str],
    *,
    dtype: str | None = None,
    tunables: Mapping[str, int] | None = None,
    seed: int = 0,
    time_limit: float = SECONDS,
    relocate: Callable[[CheckFinding], CheckFinding] = lambda finding: finding,
) -> Findings:
    """Check a resolved subject, as `check`, on a device with checked builds.

    `relocate` maps a finding to its place in the user's file. Raises CompileError, and
    DispatchError if the kernel's lines are wrong.
    """
    # An invalid comment is an error before the run.
    read_suppressions(what.kernel.source, str(what.kernel.path))
    dynamic = [each for each in tools if each not in (PERFORMANCE, TENSOR)]
    dtype_name = dtype or what.kernel.dtypes[0]
    told: list[CheckFinding] = []
    skipped: tuple[str, ...] = ()
    sizes = what.sizes if dynamic or TENSOR in tools else (what.launch_size,)
    if dynamic:
        built = compile_kernel(
            device,
            what.kernel,
            what.task,
            dtype_name=dtype_name,
            tunables=tunables,
            checked=True,
            tools=dynamic,
        )
        for size in what.sizes:
            told += CheckedRun(what, built, size, seed).findings(time_limit)
    for size in what.sizes if TENSOR in tools else ():
        told += check_layouts(
            what.kernel,
            what.task,
            device,
            size,
            dtype_name=dtype_name,
            tunables=tunables,
            seed=seed,
            time_limit=time_limit,
        )
    if PERFORMANCE in tools:
        lints = lint_kernel(
            what.kernel, what.task, what.launch_size, dtype_name=dtype_name, tunables=tunables
        )
        told += lints.found
        skipped = lints.skipped
    found = [relocate(each) for each in told if each.kind_info.tool in tools]
    counting, allowed, unused = apply_suppressions(
        merge_findings(found),
        what.kernel.source,
        what.kernel.path,
        tools,
        what.kernel.include_dirs,
        advice="remove it"
        if len(what.kernel.dtypes) == 1
        else f"remove it unless another type than {dtype_name} needs it",
    )
    return Findings(
        kernel=what.kernel.name,
        sizes=sizes,
        tools=tuple(tools),
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        skipped=skipped,
        source=what.kernel.source,
    )
