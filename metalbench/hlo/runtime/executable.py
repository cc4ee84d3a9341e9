"""Run a plan on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import monotonic
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.devices import find_kind
from metalbench.errors import CompileError, DispatchError, OutOfMemoryError, TimeLimitExceeded
from metalbench.hlo.codegen import INCLUDE, GeneratedKernel
from metalbench.hlo.ir import Block, Operation, TensorType, TensorValue
from metalbench.hlo.runtime.plan import (
    ExecutionPlan,
    PlanStep,
    build_plan,
    check_memory,
    format_source,
)
from metalbench.kernel.source_files import include_folders
from metalbench.process import usable_cores
from metalbench.sandbox.resources import memory_bytes

Array = np.ndarray[Any, Any]
Memory = dict[TensorValue, _core.Buffer]


class Executable:
    """A program that is compiled for a device; call it with NumPy arrays.

    The constructor builds the kernels; the build cache stores them. It first builds the plan of a
    graph at optimisation level `level`.

    `time_limit` ends dispatches between two decisions of the host, `run_limit` ends a whole run.
    Both are in seconds, and raise TimeLimitExceeded. If `checked`, kernels are checked builds: runs
    raise KernelFault for an access outside a buffer, or for a read of memory that no kernel has
    written.
    """

    def __init__(
        self,
        program: Block | ExecutionPlan,
        *,
        level: int = 2,
        device: str = "auto",
        time_limit: float = 60.0,
        run_limit: float | None = None,
        checked: bool = False,
    ) -> None:
        self._device = open_device(device)
        if isinstance(program, Block):
            program = build_plan(program, level, device=self._device.kind)
        self.plan: ExecutionPlan = program
        self.time_limit, self.run_limit, self.checked = time_limit, run_limit, checked
        if find_kind(self._device.kind).is_simulated:
            check_memory(program, memory_bytes())
        self._pipelines = self._compile()
        self._constants: Memory = {}
        self.pool = BufferPool(self._device, is_checked=checked)

    @property
    def source(self) -> str:
        """MSL source of the kernels."""
        return format_source(self.plan)

    @property
    def constants(self) -> list[_core.Buffer]:
        """Buffers of the constants; a result may be one of them."""
        return list(self._constants.values())

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
        checked = [
            to_storage(array, type_, f"[hlo] argument {number}")
            for number, (array, type_) in enumerate(zip(arrays, self.inputs, strict=True))
        ]
        buffers = [upload_array(self.pool, each) for each in checked]
        found = self.run(buffers)
        results = [
            # Copy: the memory belongs to the device, and may be that of an argument.
            np.array(view_buffer(buffer, type_)).astype(type_.element.numpy, copy=False)
            for buffer, type_ in zip(found, self.outputs, strict=True)
        ]
        for each in buffers:
            self.pool.release(each)
        return results

    def run(self, buffers: Sequence[_core.Buffer]) -> list[_core.Buffer]:
        """Run the program on buffers of its device; return one buffer for each output.

        A result may be an argument, a constant, or the same buffer as another result, so callers
        must only read it. Only one thread may call this method at a time, because runs share
        temporary buffers. Raise TimeLimitExceeded, OutOfMemoryError with the operation's name, or
        KeyboardInterrupt.
        """
        run = self._create_run()
        try:
            found = run.run_block(self.plan, buffers, {})
            run.flush()
        except OutOfMemoryError as error:
            raise OutOfMemoryError(f"{run.where}: {error}") from error
        except TimeLimitExceeded as error:
            raise TimeLimitExceeded(run.describe_timeout(error)) from error
        return found

    @property
    def device(self) -> _core.Device:
        """Device that runs the program."""
        return self._device

    def list_dispatches(self, buffers: Sequence[_core.Buffer]) -> list[_core.Dispatch] | None:
        """Return the dispatches of a run, or None if the program has control flow."""
        if any(step.plans for step in self.plan.steps):
            return None
        run = self._create_run()
        run.run_block(self.plan, buffers, {})
        return run.pending

    def _create_run(self) -> _Run:
        limits = self.time_limit, self.run_limit
        return _Run(self._device, self._pipelines, self._constants, self.pool, limits)

    def _compile(self) -> Mapping[str, _core.Pipeline]:
        """Compile the kernels; return their pipelines by name."""
        kernels = list(self.plan.iterate_kernels())
        if not kernels:
            return {}
        try:
            library = self._device.compile(
                self.source,
                filename="<hlo>",
                include_dirs=include_folders(None, [INCLUDE]),
                fast_math=False,
                checked=self.checked,
            )
            names = list(dict.fromkeys(each.name for each in kernels))
            library.prepare(names)
            # On devices where `prepare` does nothing, the pipelines are compiled here.
            with ThreadPoolExecutor(usable_cores()) as pool:
                pipelines = pool.map(library.pipeline, names)
                return dict(zip(names, pipelines, strict=True))
        except CompileError as error:
            raise CompileError(f"[hlo] the generated kernels do not compile: {error}") from error


@cache
def open_device(kind: str) -> _core.Device:
    """Return the device of a kind; all programs share it."""
    return _core.open() if kind == "auto" else _core.open(kind)


def to_storage(array: Any, type_: TensorType, where: str) -> Array:
    """Return an argument in its storage type, contiguous.

    Raise DispatchError, beginning with `where`, if its shape or type is another.
    """
    given = np.asarray(array)
    expected = type_.element.numpy
    if given.shape != type_.shape or given.dtype != expected:
        raise DispatchError(
            f"{where}: expected {expected.name} {type_.shape}, got {given.dtype.name} {given.shape}"
        )
    return np.asarray(given, type_.element.storage, order="C")


class BufferPool:
    """Free buffers that later operations and runs may use.

    `waiting` maps a size in bytes to free buffers. If `is_checked`, the memory of a reused buffer
    counts as unwritten.
    """

    def __init__(self, device: _core.Device, *, is_checked: bool = False) -> None:
        self._device, self.is_checked = device, is_checked
        self.waiting: dict[int, list[_core.Buffer]] = {}

    def acquire(self, nbytes: int) -> _core.Buffer:
        """Return a buffer of `nbytes` bytes with undefined contents."""
        # Never empty: a kernel needs an address.
        size = max(nbytes, 1)
        waiting = self.waiting.get(size)
        found = waiting.pop() if waiting else self._device.allocate(size)
        if self.is_checked:
            found.mark_unwritten()
        return found

    def release(self, buffer: _core.Buffer) -> None:
        """Return a buffer to the pool; only dispatches issued before may still use it."""
        self.waiting.setdefault(buffer.nbytes, []).append(buffer)


def upload_array(pool: BufferPool, array: Array) -> _core.Buffer:
    """Return a buffer with the elements of an array."""
    buffer = pool.acquire(array.nbytes)
    if pool.is_checked:
        buffer.mark_written()
    buffer.numpy("uint8")[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return buffer


def view_buffer(buffer: _core.Buffer, type_: TensorType) -> Array:
    """Return a view of the elements of a buffer, in their storage type."""
    memory = buffer.numpy("uint8")[: type_.nbytes]
    found: Array = memory.view(type_.element.storage).reshape(type_.shape)
    return found


class _Run:
    """One run: it collects dispatches, and submits them where the host must read a value."""

    def __init__(
        self,
        device: _core.Device,
        pipelines: Mapping[str, _core.Pipeline],
        constants: Memory,
        pool: BufferPool,
        limits: tuple[float, float | None],
    ) -> None:
        """Begin a run; `limits` are those of one submission and of the whole run, in seconds."""
        self._device, self._pipelines = device, pipelines
        self._constants, self._pool = constants, pool
        self._time_limit, self._run_limit = limits
        self._begin = monotonic()
        self.pending: list[_core.Dispatch] = []
        # Beginning of error messages: the current operation.
        self.where = "[hlo]"
        # The current loops, innermost last, each with its number of completed iterations.
        self._loops: dict[Operation, int] = {}

    def run_block(
        self,
        plan: ExecutionPlan,
        arguments: Sequence[_core.Buffer],
        outer: Mapping[TensorValue, _core.Buffer],
    ) -> list[_core.Buffer]:
        """Run a block; return its results' buffers. `outer` are the buffers that it may capture."""
        memory = {**outer, **dict(zip(plan.block.arguments, arguments, strict=True))}
        for each in plan.constants:
            memory[each.results[0]] = self._upload_constant(each)
        for step in plan.steps:
            self.where = step.operation.where
            results = (
                self._run_control_flow(step, memory) if step.plans else self._launch(step, memory)
            )
            memory.update(zip(step.operation.results, results, strict=True))
            for value in step.last_uses:
                buffer = memory.pop(value, None)
                if buffer is not None and value in plan.temporary:
                    self._pool.release(buffer)
        return [memory[each] for each in plan.block.returned]

    def flush(self) -> None:
        """Submit the pending dispatches and wait for them."""
        if self.pending:
            pending, self.pending = self.pending, []
            self._device.run(pending, time_limit=self._remaining())

    def describe_timeout(self, error: TimeLimitExceeded) -> str:
        """Return the message of a time limit error, with the loop that the run is in."""
        if not self._loops:
            return str(error)
        operation, turns = list(self._loops.items())[-1]
        text = str(error)
        if self._run_limit is not None and monotonic() - self._begin >= self._run_limit:
            text = f"time limit of {self._run_limit:g} s for the run reached"
        return f"{operation.where}: not ended after {turns} iterations: {text}; raise it if it ends"

    def _remaining(self) -> float:
        """Return the seconds left for dispatches. Raise TimeLimitExceeded if there are none."""
        if self._run_limit is None:
            return self._time_limit
        left = self._begin + self._run_limit - monotonic()
        if left <= 0:
            raise TimeLimitExceeded(f"time limit of {self._run_limit:g} s for the run reached")
        return min(left, self._time_limit)

    def _upload_constant(self, operation: Operation) -> _core.Buffer:
        value = operation.results[0]
        if value not in self._constants:
            self._constants[value] = upload_array(self._pool, operation.attributes["value"])
        return self._constants[value]

    def _launch(self, step: PlanStep, memory: Memory) -> list[_core.Buffer]:
        results = step.operation.results
        outputs = {each: self._pool.acquire(each.type.nbytes) for each in results}
        for kernel in step.kernels:
            if kernel.threads:
                self.pending.append(self._dispatch(kernel, memory, outputs))
        return list(outputs.values())

    def _dispatch(self, kernel: GeneratedKernel, memory: Memory, outputs: Memory) -> _core.Dispatch:
        arguments: dict[str, object] = {
            **{name: memory[value] for name, value in kernel.inputs.items()},
            **{name: outputs[value] for name, value in kernel.outputs.items()},
        }
        return _core.Dispatch(
            self._pipelines[kernel.name],
            arguments,
            threadgroups=-(-kernel.threads // kernel.group),
            threads=kernel.group,
        )

    def _read_scalar(self, buffer: _core.Buffer, value: TensorValue) -> int:
        self.flush()
        return int(view_buffer(buffer, value.type).reshape(-1)[0])

    def _run_control_flow(self, step: PlanStep, memory: Memory) -> list[_core.Buffer]:
        operation = step.operation
        if operation.name == "while":
            return self._run_while(step, memory)
        chosen = self._read_scalar(memory[operation.operands[0]], operation.operands[0])
        if operation.name == "if":
            return self.run_block(step.plans[0 if chosen else 1], [], memory)
        # An index out of range selects the last branch (StableHLO specification, `case`).
        inside = 0 <= chosen < len(step.plans)
        return self.run_block(step.plans[chosen if inside else -1], [], memory)

    def _run_while(self, step: PlanStep, memory: Memory) -> list[_core.Buffer]:
        operation, (condition, body) = step.operation, step.plans
        state = [memory[each] for each in operation.operands]
        self._loops[operation] = 0
        while True:
            # A loop without dispatches checks the limit only here.
            self._remaining()
            (going_on,) = self.run_block(condition, state, memory)
            if not self._read_scalar(going_on, condition.block.returned[0]):
                del self._loops[operation]
                return state
            state = self.run_block(body, state, memory)
            self._loops[operation] += 1
