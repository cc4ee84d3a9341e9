"""One run of a checked build, with its findings in the user's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from metalbench import _core
from metalbench.checking.finding import Finding, Frame
from metalbench.checking.subject import Subject
from metalbench.checking.unwritten import find_declaration, find_unwritten_outputs
from metalbench.errors import KernelDied
from metalbench.kernel.prepare import Bound, Compiled
from metalbench.task.workload import workload


class CheckedRun:
    """A kernel in a checked build, at one size and seed of its task."""

    def __init__(self, what: Subject, built: Compiled, size: str, seed: int) -> None:
        self._what = what
        self._built = built
        self._size = size
        self._seed = seed

    def findings(self, time_limit: float) -> list[Finding]:
        """Run the kernel once and return its findings."""
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
        found = [self._to_finding(each) for each in told]
        if any(each.severity == "error" for each in found):
            # A stopped thread has not written its outputs: those findings are not reported.
            return found
        return [*found, *self._unwritten(bound)]

    def _to_finding(self, told: _core.Finding) -> Finding:
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
    ) -> Finding:
        finding = Finding(kind, kernel, message, count, frames, self._size, self._built.dtype.name)
        place = finding.details
        return replace(finding, element=self._element(kernel, place.buffer, place.byte))

    def _element(self, kernel: str, buffer: str | None, byte: int | None) -> int | None:
        pipeline = self._built.pipelines.get(kernel)
        if pipeline is None or byte is None:
            return None
        sizes = [each.element_bytes for each in pipeline.arguments if each.name == buffer]
        return byte // sizes[0] if sizes and sizes[0] else None

    def _unwritten(self, bound: Bound) -> Iterator[Finding]:
        for name, message in find_unwritten_outputs(bound):
            kernel = next(
                each.name
                for each in self._built.pipelines.values()
                if name in [argument.name for argument in each.arguments]
            )
            source, file = self._what.kernel.source, str(self._what.kernel.path)
            frame = find_declaration(source, file, kernel, name)
            yield self._finding("output-not-written", kernel, message, 1, (frame,))
