"""Run a plan on a device."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.devices import find_kind
from metalbench.errors import CompileError, DeclarationError, DispatchError
from metalbench.hlo.ir import Block, Operation, TensorType
from metalbench.hlo.runtime.host_calls import HostFunction
from metalbench.hlo.runtime.kernels import find_kernels
from metalbench.hlo.runtime.plan import (
    ExecutionPlan,
    build_plan,
    check_memory,
    format_source,
)
from metalbench.hlo.runtime.plan_records import encode_plan
from metalbench.sandbox.resources import memory_bytes

Array = np.ndarray[Any, Any]
# Variable that says whether a GPU gets several iterations of a loop at once: as graphs, or before
# the condition is read.
LOOP_GROUPS_VARIABLE = "METALBENCH_HLO_LOOP_GROUPS"
LOOP_GROUP_CHOICES = ("auto", "never")


class Executable:
    """A program that is compiled for a device; call it with NumPy arrays.

    The constructor builds the kernels, unless `deferred`; the build cache stores them. It first
    builds the plan of a graph at optimisation level `level`. Programs of one `queue` share its
    memory and run one after the other; by default a program has its own.

    A run of more than `run_limit` seconds raises TimeLimitExceeded. If `checked`, kernels are
    checked builds: runs raise KernelFault for an access outside a buffer, or for a read of memory
    that no kernel has written.
    """

    def __init__(
        self,
        program: Block | ExecutionPlan,
        *,
        level: int = 2,
        device: str = "auto",
        run_limit: float | None = None,
        checked: bool = False,
        queue: _core.Queue | None = None,
        deferred: bool = False,
    ) -> None:
        self._device = open_device(device)
        if isinstance(program, Block):
            program = build_plan(program, level, device=self._device.kind)
        self.plan: ExecutionPlan = program
        self.run_limit, self.checked = run_limit, checked
        if find_kind(self._device.kind).is_simulated:
            check_memory(program, memory_bytes())
        self.queue = _core.Queue(self._device, checked=checked) if queue is None else queue
        if not deferred:
            _ = self.runner

    @cached_property
    def runner(self) -> _core.ExecutionPlan:
        """Plan that the device runs. First use builds the kernels; raise CompileError."""
        record, pipelines = encode_plan(self.plan), self._compile()
        kind = find_kind(self._device.kind)
        # A constant may be one of several blocks.
        constants = {
            record.slots[each.results[0]]: each.attributes["value"]
            for block in self.plan.iterate_blocks()
            for each in block.constants
        }
        steps = list(self.plan.iterate_steps())
        return _core.ExecutionPlan(
            self.queue,
            record.block,
            len(record.slots),
            pipelines=pipelines,
            constants=[(slot, upload_array(self.queue, each)) for slot, each in constants.items()],
            functions=[
                _BoundHostFunction(each.function, each.operation)
                for each in steps
                if each.function is not None
            ],
            # Each has its own queue: it runs at the same time as this plan.
            host_plans={
                each.host_run: Executable(each.host_plan, device="cpu", checked=self.checked).runner
                for each in steps
                if each.host_plan is not None and each.host_run is not None
            },
            checked=self.checked,
            groups_iterations=read_group_choice() != "never" and not kind.is_simulated,
        )

    @property
    def source(self) -> str:
        """MSL source of the kernels."""
        return format_source(self.plan)

    @property
    def inputs(self) -> list[TensorType]:
        """Types of the arguments."""
        return [each.type for each in self.plan.block.arguments]

    @property
    def outputs(self) -> list[TensorType]:
        """Types of the results."""
        return [each.type for each in self.plan.block.returned]

    def __call__(self, *arrays: Array) -> list[Array]:
        """Run the program on NumPy arrays. Raise DispatchError if an argument does not fit."""
        if len(arrays) != len(self.inputs):
            raise DispatchError(f"[hlo] expected {len(self.inputs)} arguments, got {len(arrays)}")
        buffers = [
            upload_array(self.queue, to_storage(array, type_, f"[hlo] argument {number}"))
            for number, (array, type_) in enumerate(zip(arrays, self.inputs, strict=True))
        ]
        return [
            read_buffer(self.queue, buffer, type_)
            for buffer, type_ in zip(self.run(buffers), self.outputs, strict=True)
        ]

    def run(self, buffers: Sequence[_core.Buffer]) -> list[_core.Buffer]:
        """Run the program on buffers of its device; return one buffer for each output.

        A result may be an argument, a constant, or the same buffer as another result, so callers
        must only read it. Any thread may call this method; runs of one queue do not overlap. Raise
        TimeLimitExceeded, OutOfMemoryError with the operation's name, or KeyboardInterrupt.
        """
        return self.runner.run(list(buffers), run_limit=self.run_limit or 0.0)

    def submit(self, buffers: Sequence[_core.Buffer]) -> list[_core.Buffer]:
        """Begin a run on buffers of the device; return its results without waiting for them.

        Later runs on the queue begin after this one, and `queue.read` waits for the elements of a
        buffer. There is no time limit. Errors of kernels are raised by a later call that waits.
        """
        return self.runner.submit(list(buffers))

    @property
    def device(self) -> _core.Device:
        """Device that runs the program."""
        return self._device

    def list_dispatches(self, buffers: Sequence[_core.Buffer]) -> list[_core.Dispatch] | None:
        """Return the dispatches of a run, or None if the host does work between them."""
        if any(
            step.plans or step.updated or step.function or step.host_run is not None
            for step in self.plan.steps
        ):
            return None
        return self.runner.list_dispatches(list(buffers))

    def _compile(self) -> Mapping[str, _core.Pipeline]:
        """Compile the kernels; return their pipelines by name."""
        kernels = list(self.plan.iterate_kernels())
        try:
            return find_kernels(self._device, checked=self.checked).compile(kernels)
        except CompileError as error:
            raise CompileError(f"[hlo] the generated kernels do not compile: {error}") from error


def read_group_choice() -> str:
    """Return whether iterations of loops are grouped. Raise DeclarationError for another text."""
    text = os.environ.get(LOOP_GROUPS_VARIABLE) or LOOP_GROUP_CHOICES[0]
    if text not in LOOP_GROUP_CHOICES:
        expected = ", ".join(LOOP_GROUP_CHOICES)
        raise DeclarationError(f"{LOOP_GROUPS_VARIABLE}: expected {expected}, got {text}")
    return text


def build_kernels(executables: Sequence[Executable]) -> None:
    """Build the kernels of deferred programs of one device together.

    Errors are raised by `Executable.runner`.
    """
    for checked in (False, True):
        plans = [each.plan for each in executables if each.checked == checked]
        if plans:
            kernels = find_kernels(executables[0].device, checked=checked)
            kernels.build([list(each.iterate_kernels()) for each in plans])


@cache
def open_device(kind: str) -> _core.Device:
    """Return the device of a kind; all programs share it."""
    return _core.open() if kind == "auto" else _core.open(kind)


def to_storage(array: Any, type_: TensorType, where: str) -> Array:
    """Return an array in the storage type of `type_`, contiguous.

    Raise DispatchError, beginning with `where`, if its shape or type is another.
    """
    given = np.asarray(array)
    expected = type_.element.numpy
    if given.shape != type_.shape or given.dtype != expected:
        raise DispatchError(
            f"{where}: expected {expected.name} {type_.shape}, got {given.dtype.name} {given.shape}"
        )
    return np.asarray(given, type_.element.storage, order="C")


def from_storage(elements: bytes | bytearray, type_: TensorType) -> Array:
    """Return the array with these elements; it is writable if they are a `bytearray`."""
    stored = np.frombuffer(elements, type_.element.storage, type_.size)
    return stored.reshape(type_.shape).astype(type_.element.numpy, copy=False)


def upload_array(queue: _core.Queue, array: Array) -> _core.Buffer:
    """Return a buffer with the elements of an array."""
    buffer = queue.allocate(array.nbytes)
    queue.write(buffer, np.ascontiguousarray(array).tobytes())
    return buffer


def read_buffer(queue: _core.Queue, buffer: _core.Buffer, type_: TensorType) -> Array:
    """Return the elements of a buffer."""
    return from_storage(bytearray(queue.read(buffer)), type_)


class _BoundHostFunction:
    """A function with the types of its arguments and results; the executor calls it with bytes."""

    def __init__(self, function: HostFunction, operation: Operation) -> None:
        self._function, self._where = function, operation.where
        self._inputs = [each.type for each in operation.operands]
        self._outputs = [each.type for each in operation.results]

    def __call__(self, arguments: Sequence[bytes]) -> list[bytes]:
        """Return the elements of the results. Raise what the function raises, or DispatchError."""
        arrays = [
            from_storage(each, type_) for each, type_ in zip(arguments, self._inputs, strict=True)
        ]
        found = self._function.function(*arrays)
        if len(found) != len(self._outputs):
            raise DispatchError(
                f"{self._where}: expected {len(self._outputs)} results of the Python function, "
                f"got {len(found)}"
            )
        return [
            to_storage(each, type_, f"{self._where}: result {number}").tobytes()
            for number, (each, type_) in enumerate(zip(found, self._outputs, strict=True))
        ]
