"""A plan with its kernels compiled, on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.cores import usable_cores
from metalbench.errors import CompileError, DispatchError
from metalbench.hlo.emission import INCLUDE, Kernel
from metalbench.hlo.graph import Block, Operation, TensorType, Value
from metalbench.hlo.running.plan import Plan, Step, plan, source
from metalbench.kernel.installed import include_folders

Array = np.ndarray[Any, Any]
Memory = dict[Value, _core.Buffer]


class Executable:
    """A program that is compiled for a device; call it with numpy arrays.

    Its kernels are built when it is made, and kept on disk as all builds are. A graph is planned
    first, at a level; of a plan this was done.
    """

    def __init__(
        self,
        program: Block | Plan,
        *,
        level: int = 2,
        device: str = "auto",
        time_limit: float = 60.0,
    ) -> None:
        self._device = opened(device)
        if isinstance(program, Block):
            program = plan(program, level, device=self._device.kind)
        self.plan: Plan = program
        self.time_limit = time_limit
        self._pipelines = self._compiled()
        self._constants: Memory = {}
        self.free = Free(self._device)

    @property
    def source(self) -> str:
        """The kernels as MSL."""
        return source(self.plan)

    @property
    def constants(self) -> list[_core.Buffer]:
        """Buffers of the program's own, which results may be."""
        return list(self._constants.values())

    @property
    def inputs(self) -> list[TensorType]:
        """What it takes."""
        return [each.type for each in self.plan.block.arguments]

    @property
    def outputs(self) -> list[TensorType]:
        """What it gives."""
        return [each.type for each in self.plan.block.returned]

    def __call__(self, *arrays: Array) -> list[Array]:
        """Run the program. Raises DispatchError, which names the argument that does not fit."""
        if len(arrays) != len(self.inputs):
            raise DispatchError(f"[hlo] expected {len(self.inputs)} arguments, got {len(arrays)}")
        checked = [
            stored(array, type_, f"[hlo] argument {number}")
            for number, (array, type_) in enumerate(zip(arrays, self.inputs, strict=True))
        ]
        given = [upload(self.free, each) for each in checked]
        found = self.run(given)
        results = [
            # A copy: the memory is the device's, and may be an argument's.
            np.array(view(buffer, type_)).astype(type_.element.numpy, copy=False)
            for buffer, type_ in zip(found, self.outputs, strict=True)
        ]
        for each in given:
            self.free.give(each)
        return results

    def run(self, given: Sequence[_core.Buffer]) -> list[_core.Buffer]:
        """Run it on buffers of its device, one for each input; gives one for each output.

        These may be among those given, be constants, or be the same one twice: they are to be read
        only. One thread at a time: runs share what they need in between.
        """
        run = _Run(self._device, self._pipelines, self._constants, self.free, self.time_limit)
        found = run.block(self.plan, given, {})
        run.flush()
        return found

    @property
    def device(self) -> _core.Device:
        """What it runs on."""
        return self._device

    def launches(self, given: Sequence[_core.Buffer]) -> list[_core.Dispatch] | None:
        """What `run` does, to be timed as often as one likes; None where the host decides."""
        if any(step.plans for step in self.plan.steps):
            return None
        run = _Run(self._device, self._pipelines, self._constants, self.free, self.time_limit)
        run.block(self.plan, given, {})
        return run.pending

    def _compiled(self) -> Mapping[str, _core.Pipeline]:
        kernels = list(self.plan.kernels())
        if not kernels:
            return {}
        try:
            library = self._device.compile(
                self.source,
                filename="<hlo>",
                include_dirs=include_folders(None, [INCLUDE]),
                fast_math=False,
            )
            names = list(dict.fromkeys(each.name for each in kernels))
            library.prepare(names)
            # Where that does nothing, each is compiled here.
            with ThreadPoolExecutor(usable_cores()) as pool:
                made = pool.map(library.pipeline, names)
                return dict(zip(names, made, strict=True))
        except CompileError as error:
            raise CompileError(f"[hlo] the generated kernels do not compile: {error}") from error


@cache
def opened(kind: str) -> _core.Device:
    """A device, once for all programs."""
    return _core.open() if kind == "auto" else _core.open(kind)


def stored(array: Any, type_: TensorType, where: str) -> Array:
    """An argument as it lies in memory; DispatchError beginning with `where` if it is another."""
    given = np.asarray(array)
    expected = type_.element.numpy
    if given.shape != type_.shape or given.dtype != expected:
        raise DispatchError(
            f"{where}: expected {expected.name} {type_.shape}, got {given.dtype.name} {given.shape}"
        )
    return np.asarray(given, type_.element.storage, order="C")


class Free:
    """Buffers that nothing needs any more, for what comes next, in this call or another.

    `waiting` has them by their bytes.
    """

    def __init__(self, device: _core.Device) -> None:
        self._device = device
        self.waiting: dict[int, list[_core.Buffer]] = {}

    def take(self, nbytes: int) -> _core.Buffer:
        """A buffer with anything in it."""
        # Never empty: a kernel has to get some address.
        size = max(nbytes, 1)
        waiting = self.waiting.get(size)
        return waiting.pop() if waiting else self._device.allocate(size)

    def give(self, buffer: _core.Buffer) -> None:
        """Have a buffer that only kernels use which have been asked for before."""
        self.waiting.setdefault(buffer.nbytes, []).append(buffer)


def upload(free: Free, array: Array) -> _core.Buffer:
    """A buffer with these elements."""
    buffer = free.take(array.nbytes)
    buffer.numpy("uint8")[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return buffer


def view(buffer: _core.Buffer, type_: TensorType) -> Array:
    """The elements in a buffer, as they lie there."""
    memory = buffer.numpy("uint8")[: type_.nbytes]
    found: Array = memory.view(type_.element.storage).reshape(type_.shape)
    return found


class _Run:
    """One run: launches are collected, and flushed where the host has to read a value."""

    def __init__(
        self,
        device: _core.Device,
        pipelines: Mapping[str, _core.Pipeline],
        constants: Memory,
        free: Free,
        time_limit: float,
    ) -> None:
        self._device, self._pipelines = device, pipelines
        self._constants, self._free, self._time_limit = constants, free, time_limit
        self.pending: list[_core.Dispatch] = []

    def block(
        self, made: Plan, arguments: Sequence[_core.Buffer], outer: Mapping[Value, _core.Buffer]
    ) -> list[_core.Buffer]:
        """Run a block; the buffers of what it returns. `outer` are those that it may capture."""
        memory = {**outer, **dict(zip(made.block.arguments, arguments, strict=True))}
        for each in made.constants:
            memory[each.results[0]] = self._constant(each)
        for step in made.steps:
            results = self._flow(step, memory) if step.plans else self._launch(step, memory)
            memory.update(zip(step.operation.results, results, strict=True))
            for value in step.last_of:
                buffer = memory.pop(value, None)
                if buffer is not None and value in made.temporary:
                    self._free.give(buffer)
        return [memory[each] for each in made.block.returned]

    def flush(self) -> None:
        """Run what is pending."""
        if self.pending:
            self._device.run(self.pending, time_limit=self._time_limit)
            self.pending = []

    def _constant(self, operation: Operation) -> _core.Buffer:
        value = operation.results[0]
        if value not in self._constants:
            self._constants[value] = upload(self._free, operation.attributes["value"])
        return self._constants[value]

    def _launch(self, step: Step, memory: Memory) -> list[_core.Buffer]:
        results = step.operation.results
        made = {each: self._free.take(each.type.nbytes) for each in results}
        for kernel in step.kernels:
            if kernel.threads:
                self.pending.append(self._dispatch(kernel, memory, made))
        return list(made.values())

    def _dispatch(self, kernel: Kernel, memory: Memory, made: Memory) -> _core.Dispatch:
        arguments: dict[str, object] = {
            **{name: memory[value] for name, value in kernel.inputs.items()},
            **{name: made[value] for name, value in kernel.outputs.items()},
        }
        return _core.Dispatch(
            self._pipelines[kernel.name],
            arguments,
            threadgroups=-(-kernel.threads // kernel.group),
            threads=kernel.group,
        )

    def _read(self, buffer: _core.Buffer, value: Value) -> int:
        self.flush()
        return int(view(buffer, value.type).reshape(-1)[0])

    def _flow(self, step: Step, memory: Memory) -> list[_core.Buffer]:
        operation = step.operation
        if operation.name == "while":
            return self._while(step, memory)
        chosen = self._read(memory[operation.operands[0]], operation.operands[0])
        if operation.name == "if":
            return self.block(step.plans[0 if chosen else 1], [], memory)
        # An index out of range is the last branch's.
        inside = 0 <= chosen < len(step.plans)
        return self.block(step.plans[chosen if inside else -1], [], memory)

    def _while(self, step: Step, memory: Memory) -> list[_core.Buffer]:
        condition, body = step.plans
        state = [memory[each] for each in step.operation.operands]
        while True:
            (going_on,) = self.block(condition, state, memory)
            if not self._read(going_on, condition.block.returned[0]):
                return state
            state = self.block(body, state, memory)
