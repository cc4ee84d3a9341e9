"""Count the bytes that a plan's kernels move, their operations, and their peak memory.

Each kernel counts every buffer that it reads or writes once, with its full size. Loops and branches
count once, because their number of iterations is known only at run time. The least bytes are those
of arguments and results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from metalbench.hlo.emission import GeneratedKernel
from metalbench.hlo.graph import Block, Operation
from metalbench.hlo.operations import CONTROL_FLOW, FUSED, MOVEMENTS
from metalbench.hlo.running import ExecutionPlan
from metalbench.hlo.running.memory import compute_live_bytes


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Counts of one program; `kernels_before` is the number of kernels at -O 0.

    `live_bytes` is the peak of live buffers: arguments, constants and temporaries. `flops` counts
    one operation for each element, and two for each term of a product. `has_loops` says that the
    program has control flow, so that bytes and flops are those of one iteration.
    """

    kernels_before: int
    kernels: int
    moved_bytes: int
    least_bytes: int
    flops: int
    live_bytes: int
    has_loops: bool

    @property
    def moved(self) -> float:
        """Bytes that kernels move, divided by the least bytes."""
        return self.moved_bytes / max(self.least_bytes, 1)


def count_plan(unfused: ExecutionPlan, plan: ExecutionPlan) -> Utilisation:
    """Return the counts of a plan; `unfused` is the plan of the same program at -O 0."""
    ends = dict.fromkeys([*plan.block.arguments, *plan.block.returned])
    return Utilisation(
        kernels_before=len(list(unfused.iterate_kernels())),
        kernels=len(list(plan.iterate_kernels())),
        moved_bytes=sum(count_moved_bytes(each) for each in plan.iterate_kernels()),
        least_bytes=sum(each.type.nbytes for each in ends),
        flops=count_flops(unfused.block),
        live_bytes=compute_live_bytes(plan),
        has_loops=any(step.plans for step in plan.steps),
    )


def count_moved_bytes(kernel: GeneratedKernel) -> int:
    """Return the size of the buffers that a kernel reads and writes."""
    return sum(each.type.nbytes for each in (*kernel.inputs.values(), *kernel.outputs.values()))


def count_flops(block: Block) -> int:
    """Return the operations on elements in a block, including its regions."""
    return sum(_count_operation_flops(each) for each in block.operations)


def _count_operation_flops(operation: Operation) -> int:
    """Return the operations on elements of one operation."""
    if operation.name in (*CONTROL_FLOW, *FUSED):
        return sum(count_flops(each) for each in operation.regions)
    size = sum(each.type.size for each in operation.results)
    return 0 if operation.name in MOVEMENTS else size * _count_flops_per_element(operation)


def _count_flops_per_element(operation: Operation) -> int:
    """Return the operations for one result element."""
    numbers, operands = operation.attributes, [each.type for each in operation.operands]
    found = 1
    if operation.name == "dot_general":
        axes = numbers["dot_dimension_numbers"]["lhs_contracting_dimensions"]
        found = 2 * prod(operands[0].shape[axis] for axis in axes)
    elif operation.name == "convolution":
        axis = numbers["dimension_numbers"]["kernel_output_feature_dimension"]
        found = 2 * operands[1].size // max(operands[1].shape[axis], 1)
    elif operation.name == "reduce":
        found = operands[0].size // max(operation.results[0].type.size, 1)
    elif operation.name in ("reduce_window", "select_and_scatter"):
        found = prod(numbers["window_dimensions"])
    return int(found)


def list_launches(plan: ExecutionPlan) -> Iterator[GeneratedKernel]:
    """Yield the kernels of a plan without control flow, in their order."""
    for step in plan.steps:
        yield from (each for each in step.kernels if each.threads)
