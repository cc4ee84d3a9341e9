"""Run a Python candidate for verification, with the interface of a compiled kernel.

Its kernels are compiled here, and loaded by its process before that is sealed. What a call needs
besides makes it start again, with all that is known by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.errors import CompileError, MetalBenchError
from metalbench.kernel.header import Kernel
from metalbench.kernel.memory import POISONS
from metalbench.kernel.source_files import find_file_access
from metalbench.kernelbench.candidates.kernels import load
from metalbench.kernelbench.candidates.messages import (
    CallLayout,
    CandidateStart,
    Launch,
    make_layout,
)
from metalbench.kernelbench.candidates.own_work import Overhead, ProbeKind
from metalbench.kernelbench.candidates.player import (
    Arena,
    CallResult,
    CandidateProcess,
    KernelsNeeded,
)
from metalbench.kernelbench.candidates.source import locate_in_file
from metalbench.task import Task
from metalbench.task.dtypes import DType
from metalbench.task.workload import Workload
from metalbench.verify.examine import Examiner, ReferenceErrors

if TYPE_CHECKING:
    from metalbench._core import Device

# A candidate that needs other kernels at every call never comes to an end.
MOST_STARTS = 24
# For the file to be run, and for one call.
TIME_LIMIT = 10.0
# The only include that the generated kernel has itself.
_OWN = '#include "mlx.h"'


class Candidate:
    """A candidate for one task and element type; `compiled` as `verify_compiled` takes it.

    A context that ends its process. `launches` is all that its calls have needed so far. Where the
    system cannot confine its process it does not run, unless it may run `unconfined`: then
    `lacking` says what was missing.
    """

    def __init__(
        self,
        judge: Device,
        kernel: Kernel,
        task: Task,
        dtype: DType,
        *,
        checked: bool = False,
        unconfined: bool = False,
    ) -> None:
        self._unconfined = unconfined
        self.lacking: tuple[str, ...] = ()
        self.task, self.dtype, self.kernel = task, dtype, kernel
        self.device = CandidateDevice(self)
        self.launches: dict[Launch, None] = {}
        self.starts = 0
        self._judge, self._checked = judge, checked
        self._process: CandidateProcess | None = None
        self._layout: CallLayout | None = None
        self.arena: Arena | None = None

    def __enter__(self) -> Candidate:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End its process."""
        if self._process is not None:
            self._process.end()
            self._process = self._layout = None

    def reserve(self, nbytes: int) -> Arena:
        """Memory of this size at least; a process that has less is ended."""
        if self.arena is None or self.arena.nbytes < nbytes:
            self.end()
            self.arena = Arena(nbytes)
        return self.arena

    def check_limits(self, values: Mapping[str, int]) -> None:
        """Accept any sizes: a candidate declares no limits."""

    def bind(self, work: Workload) -> CandidateSlot:
        """Put a workload into the first slot."""
        return CandidateSlot(self, work).load(work)

    def call(
        self, layout: CallLayout, count: int = 1, *, limit_s: float = TIME_LIMIT
    ) -> CallResult:
        """Call it for the first slots; raises as Player, and CompileError of its kernels."""
        while True:
            try:
                return self.call_as_loaded(layout, count, limit_s=limit_s)
            except KernelsNeeded as needs:
                self.compile(needs.launches)

    def call_as_loaded(
        self, layout: CallLayout, count: int = 1, *, limit_s: float = TIME_LIMIT
    ) -> CallResult:
        """The same, but kernels that are not loaded are for the caller to see to.

        Raises Needs; their outputs were zeros.
        """
        return self._prepare_process(layout, count).call(count, limit_s)

    def probe(self, layout: CallLayout, way: ProbeKind, seed: int) -> tuple[int, int]:
        """Call it once for the first slot, with kernels that go wrong in a way.

        Return the bytes of arguments that its kernels read, and the bytes that they wrote. Raises
        as Player, and Needs.
        """
        return self._prepare_process(layout, 1).probe(way, seed, TIME_LIMIT)

    def _prepare_process(self, layout: CallLayout, count: int) -> CandidateProcess:
        player = self._process or self._start_process(layout.nbytes * count)
        if layout != self._layout:
            player.set_layout(layout)
            self._layout = layout
        return player

    def _start_process(self, nbytes: int) -> CandidateProcess:
        self.starts += 1
        if self.starts > MOST_STARTS:
            raise CompileError(
                f"[{self.task.name}] expected the same kernels in every call of a size, and got "
                f"others {MOST_STARTS} times; {len(self.launches)} are known by now"
            )
        arena = self.reserve(nbytes)
        self._layout = None
        self._process = CandidateProcess(self._start(arena.nbytes), arena, time_limit=TIME_LIMIT)
        self.lacking = self._process.lacking
        return self._process

    def overhead(self) -> Overhead:
        """Return what a call's copies and a launch cost; of a form of the reference only."""
        assert self._process is not None
        return self._process.overhead()

    def _start(self, nbytes: int) -> CandidateStart:
        file = self.kernel.path.name
        launches = tuple(self.launches)
        return CandidateStart(
            file,
            self.task.name,
            nbytes,
            self.kernel.source,
            launches,
            checked=self._checked,
            unconfined=self._unconfined,
        )

    def compile(self, launches: Iterable[Launch]) -> None:
        """Compile kernels for the next process, and end this one."""
        for each in tuple(launches):
            try:
                compile_launch(self._judge, each, checked=self._checked)
            except CompileError as error:
                file, text = self.kernel.path.name, self.kernel.source
                raise CompileError(locate_in_file(str(error), file, text)) from None
            self.launches[each] = None
        self.end()


def compile_launch(judge: Device, launch: Launch, *, checked: bool) -> None:
    """Compile a kernel into the cache, here, where a compiler may be started; runs nothing."""
    fault = find_file_access(launch.unit, allowed=_OWN)
    if fault:
        raise CompileError(f"{launch.file}: {fault}")
    try:
        load(judge, launch, checked=checked)
    except CompileError:
        raise
    except MetalBenchError as error:
        raise type(error)(f"{launch.file}: {error}") from None


class CandidateDevice:
    """A candidate's calls, as an Examiner runs a device."""

    kind = "cpu"

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    def run(self, dispatches: Sequence[CallLayout], *, time_limit: float) -> float:
        """Make one call of the only layout; returns the nanoseconds that passed."""
        (layout,) = dispatches
        return float(self._candidate.call(layout, limit_s=time_limit).ns)


@dataclass
class OutputArray:
    """An output in shared memory for an Examiner. It has no guard memory around it."""

    array: np.ndarray[Any, Any]
    _poison: int = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its element type."""
        kind: np.dtype[Any] = self.array.dtype
        return kind

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        extents: tuple[int, ...] = self.array.shape
        return extents

    @property
    def _bytes(self) -> np.ndarray[Any, Any]:
        return self.array.reshape(-1).view(np.uint8).reshape(-1, self.array.itemsize)

    @property
    def _element(self) -> np.ndarray[Any, Any]:
        return np.full(4, POISONS[self._poison]).view(np.uint8)[: self.array.itemsize]

    def poison(self, turn: int = 0) -> None:
        """Make every element one that no candidate computes."""
        self._poison = turn % len(POISONS)
        self._bytes[:] = self._element

    def poison_places(self, places: np.ndarray[Any, Any]) -> None:
        """Poison the elements where `places`, flat and boolean, is true."""
        self._bytes[places] = self._element

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Return whether it has the bits of `array`."""
        return self.array.tobytes() == array.tobytes()

    def unwritten(self) -> np.ndarray[Any, Any]:
        """Return a mask of the elements that still hold the poison."""
        same: np.ndarray[Any, Any] = (self._bytes == self._element).all(axis=-1)
        return same.reshape(self.shape)

    def broken_guard(self) -> str:
        """Return "": there is no guard memory."""
        return ""


@dataclass
class CandidateSlot:
    """A workload in the first slot, as an Examiner sees a bound kernel."""

    candidate: Candidate
    workload: Workload
    outputs: Mapping[str, OutputArray] = field(default_factory=dict)
    # What a candidate is given are copies, of which nothing comes back.
    inputs: Mapping[str, OutputArray] = field(default_factory=dict)
    scratches: Mapping[str, OutputArray] = field(default_factory=dict)
    # Nothing is updated in place.
    inouts: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_outputs(self) -> Mapping[str, OutputArray]:
        """All outputs, as none is an updated input."""
        return self.outputs

    @property
    def dispatches(self) -> list[CallLayout]:
        """The call to be made."""
        return [layout(self.workload)]

    def load(self, work: Workload) -> CandidateSlot:
        """The same slot with another workload's inputs in it."""
        where = layout(work)
        memory = self.candidate.reserve(where.nbytes).memory
        copy_inputs(memory, 0, where, work)
        outputs = {each.name: OutputArray(each.array(memory, 0)) for each in where.outputs}
        return CandidateSlot(self.candidate, work, outputs)

    def poison(self, turn: int = 0) -> None:
        """Make the outputs what no candidate computes."""
        for each in self.outputs.values():
            each.poison(turn)

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Output `name` as it is in memory."""
        return self.outputs[name].array

    def unwritten(self, name: str) -> np.ndarray[Any, Any]:
        """Return a boolean array: which elements of output `name` still hold the poison."""
        return self.outputs[name].unwritten()

    def examiner(self, reference_errors: ReferenceErrors | None = None) -> Examiner:
        """Return an Examiner of the outputs of the last call."""
        # A slot has of a bound kernel what an examiner asks for.
        bound: Any = self
        known = ReferenceErrors() if reference_errors is None else reference_errors
        return Examiner(bound, self.candidate.device, TIME_LIMIT, known)


def layout(work: Workload) -> CallLayout:
    """Return the layout of a call with the arrays of a workload."""
    declared = work.task.outputs
    inputs = {name: (each.dtype.name, each.shape) for name, each in work.inputs.items()}
    outputs = {
        name: (declared[name].type_in(work.dtype).name, shape)
        for name, shape in work.output_shapes.items()
    }
    return make_layout(inputs, outputs, {**work.task.constants, **work.values})


def copy_inputs(
    memory: np.ndarray[Any, Any], begin: int, where: CallLayout, work: Workload
) -> None:
    """Copy a workload's inputs into the slot that begins at this byte."""
    for each in where.inputs:
        np.copyto(each.array(memory, begin), work.inputs[each.name])
