"""Write plans as records of JSON values: the form that the cache stores and the executor runs.

`ExecutionPlan` is the form for analysis: it refers to the graph, whose operations and types name
errors, peak memory and costs. A process cannot share it, and C++ cannot read it. A record has
numbers in place of values: *slots*, which are also the numbers of the buffers of a run. It names
kernels, and has none of the objects of a process. `_core.ExecutionPlan` takes it together with
these objects: pipelines by name, buffers of constants by slot, functions of Python and the plans of
host regions (csrc/bindings/execution_plans.cpp reads it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench.hlo.codegen import GeneratedKernel
from metalbench.hlo.ir import ELEMENT_TYPES, Block, Operation, TensorType, TensorValue, find_splat
from metalbench.hlo.passes.loops import LoopCounter
from metalbench.hlo.runtime.plan import ExecutionPlan, PlanStep

Array = np.ndarray[Any, Any]
Record = dict[str, Any]


@dataclass
class PlanRecord:
    """The record of a plan: its blocks, and what they refer to by slot, name or offset.

    `texts` are those of kernels by name. `constants` are arrays in the order of their offsets; one
    whose elements are equal has only one element.
    """

    block: Record
    slots: dict[TensorValue, int]
    texts: dict[str, str]
    constants: list[Array]

    @property
    def values(self) -> list[tuple[list[int], str]]:
        """Shape and element type of each slot."""
        return [(list(each.type.shape), each.type.element.name) for each in self.slots]


def encode_plan(plan: ExecutionPlan) -> PlanRecord:
    """Return the record of a plan.

    It refers to functions of the host by their order in `plan.iterate_steps()`.
    """
    encoder = _PlanEncoder()
    block = encoder.encode_block(plan)
    return PlanRecord(block, encoder.slots, encoder.texts, encoder.constants)


def decode_plan(
    block: Record,
    values: Sequence[tuple[Sequence[int], str]],
    texts: Mapping[str, str],
    constants: bytes,
) -> ExecutionPlan:
    """Return the plan of a record; the arguments are the parts of a `PlanRecord`.

    Its graph has only arguments, results, and the operations of constants and steps.
    """
    found = [TensorValue(TensorType(tuple(shape), ELEMENT_TYPES[name])) for shape, name in values]
    return _PlanDecoder(found, texts, constants).decode_block(block)


class _PlanEncoder:
    """Encoder of the blocks of a plan. Values of nested blocks have slots of the same numbering."""

    def __init__(self) -> None:
        self.slots: dict[TensorValue, int] = {}
        self.texts: dict[str, str] = {}
        self.constants: list[Array] = []
        self._offset = self._functions = 0

    def encode_slot(self, value: TensorValue) -> int:
        return self.slots.setdefault(value, len(self.slots))

    def list_slots(self, values: Iterable[TensorValue]) -> list[int]:
        return [self.encode_slot(each) for each in values]

    def encode_block(self, plan: ExecutionPlan) -> Record:
        return {
            "arguments": self.list_slots(plan.block.arguments),
            "constants": [
                {
                    **self.encode_operation(each),
                    "value": self.encode_constant(each.attributes["value"]),
                }
                for each in plan.constants
            ],
            "steps": [self.encode_step(each) for each in plan.steps],
            "returned": self.list_slots(plan.block.returned),
            "temporary": sorted(self.list_slots(plan.temporary)),
            "decisions": plan.decisions,
        }

    def encode_step(self, step: PlanStep) -> Record:
        operands = step.operation.operands
        captured = {one for each in step.plans for one in each.find_used_values()}
        movable = {each for each in step.last_uses if each not in captured}
        function = None if step.function is None else self._functions
        self._functions += step.function is not None
        return {
            **self.encode_operation(step.operation),
            "is_moved": [
                each in movable and each not in operands[number + 1 :]
                for number, each in enumerate(operands)
            ],
            "kernels": [self.encode_kernel(each) for each in step.kernels],
            "blocks": [self.encode_block(each) for each in step.plans],
            "last_uses": self.list_slots(step.last_uses),
            "updated": None if step.updated is None else self.encode_slot(step.updated),
            "counter": None if step.counter is None else self.encode_counter(step.counter),
            "function": function,
            "host_plan": None if step.host_plan is None else self.encode_block(step.host_plan),
            "host_run": step.host_run,
        }

    def encode_counter(self, counter: LoopCounter) -> Record:
        def encode(number: int | TensorValue) -> int | Record:
            return number if isinstance(number, int) else {"slot": self.encode_slot(number)}

        return {
            "start": encode(counter.start),
            "bound": encode(counter.bound),
            "step": counter.step,
            "is_inclusive": counter.is_inclusive,
            "element": counter.element.name,
            "bytes": counter.element.storage.itemsize,
            "is_signed": counter.element.kind == "i",
        }

    def encode_operation(self, operation: Operation) -> Record:
        return {
            "name": operation.name,
            "location": operation.location,
            "operands": self.list_slots(operation.operands),
            "results": [(self.encode_slot(each), each.type.nbytes) for each in operation.results],
        }

    def encode_kernel(self, kernel: GeneratedKernel) -> Record:
        self.texts[kernel.name] = kernel.text
        return {
            "name": kernel.name,
            "threads": kernel.threads,
            "group": kernel.group,
            "inputs": {name: self.encode_slot(each) for name, each in kernel.inputs.items()},
            "outputs": {name: self.encode_slot(each) for name, each in kernel.outputs.items()},
        }

    def encode_constant(self, array: Array) -> list[int]:
        """Return the offset of a constant's bytes and its number of elements; a splat has one."""
        start, one = self._offset, find_splat(array)
        stored = array if one is None else one
        self.constants.append(stored)
        self._offset += stored.nbytes
        return [start, stored.size]


class _PlanDecoder:
    """Decoder of the blocks of a record to plans of these values."""

    def __init__(
        self, values: list[TensorValue], texts: Mapping[str, str], constants: bytes
    ) -> None:
        self._values, self._texts, self._constants = values, texts, constants

    def decode_values(self, slots: Iterable[int]) -> list[TensorValue]:
        return [self._values[each] for each in slots]

    def decode_block(self, record: Record) -> ExecutionPlan:
        block = Block(
            self.decode_values(record["arguments"]), [], self.decode_values(record["returned"])
        )
        constants = [self.decode_constant(each) for each in record["constants"]]
        steps = [self.decode_step(each) for each in record["steps"]]
        temporary = set(self.decode_values(record["temporary"]))
        return ExecutionPlan(block, steps, constants, temporary, record["decisions"])

    def decode_step(self, record: Record) -> PlanStep:
        return PlanStep(
            self.decode_operation(record),
            [self.decode_kernel(each) for each in record["kernels"]],
            [self.decode_block(each) for each in record["blocks"]],
            self.decode_values(record["last_uses"]),
            None if record["updated"] is None else self._values[record["updated"]],
            None if record["counter"] is None else self.decode_counter(record["counter"]),
            None,
            None if record["host_plan"] is None else self.decode_block(record["host_plan"]),
            record["host_run"],
        )

    def decode_counter(self, record: Record) -> LoopCounter:
        def decode(number: int | Record) -> int | TensorValue:
            return number if isinstance(number, int) else self._values[number["slot"]]

        return LoopCounter(
            decode(record["start"]),
            decode(record["bound"]),
            record["step"],
            record["is_inclusive"],
            ELEMENT_TYPES[record["element"]],
        )

    def decode_operation(self, record: Record) -> Operation:
        operands = self.decode_values(record["operands"])
        results = self.decode_values(slot for slot, _ in record["results"])
        operation = Operation(record["name"], operands, results, {}, [], record["location"])
        for number, each in enumerate(results):
            each.operation, each.number = operation, number
        return operation

    def decode_kernel(self, record: Record) -> GeneratedKernel:
        name = record["name"]
        inputs, outputs = (
            {parameter: self._values[each] for parameter, each in record[side].items()}
            for side in ("inputs", "outputs")
        )
        text, threads, group = self._texts[name], record["threads"], record["group"]
        return GeneratedKernel(name, text, threads, inputs, outputs, group)

    def decode_constant(self, record: Record) -> Operation:
        operation = self.decode_operation(record)
        type_, (start, count) = operation.results[0].type, record["value"]
        array = np.frombuffer(self._constants, type_.element.storage, count, start)
        shaped = array.reshape(type_.shape) if count == type_.size else array.reshape(())
        operation.attributes["value"] = np.broadcast_to(shaped, type_.shape)
        return operation
