"""Count the work of a program: operations on elements, and bytes that its kernels move.

A loop counts as often as it runs if that number is known before, else once. A choice counts as its
most costly block. Iterative methods count as in LAPACK's tables (LAWN 41): a QR decomposition of
m by n elements takes 2 m n^2 operations, one of n eigenvalues with vectors about 9 n^3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import ceil, log2, prod

from metalbench.hlo.codegen import GeneratedKernel
from metalbench.hlo.ir import Block, Operation
from metalbench.hlo.operations import (
    FUSED,
    FUSED_LOOPS,
    HOST_CALLS,
    HOST_REGIONS,
    MOVEMENTS,
    OPERATIONS,
)
from metalbench.hlo.passes.loops import count_iterations, find_loop_counter
from metalbench.hlo.runtime.plan import ExecutionPlan, PlanStep


@dataclass(frozen=True)
class WorkCount:
    """Operations on elements; `transcendentals` are roots, exponentials and the like."""

    flops: int = 0
    transcendentals: int = 0

    @property
    def total(self) -> int:
        """All operations."""
        return self.flops + self.transcendentals

    def __add__(self, other: WorkCount) -> WorkCount:
        return WorkCount(self.flops + other.flops, self.transcendentals + other.transcendentals)

    def __mul__(self, count: int) -> WorkCount:
        return WorkCount(self.flops * count, self.transcendentals * count)


def count_work(block: Block) -> WorkCount:
    """Return the work of a graph, which may be the region of an operation."""
    return sum((count_operation(each) for each in block.operations), WorkCount())


def count_operation(operation: Operation) -> WorkCount:
    """Return the work of one operation, with that of its regions."""
    count = _COUNTS.get(operation.name)
    if count is not None:
        return count(operation)
    known = OPERATIONS.get(operation.name)
    size = sum(each.type.size for each in operation.results)
    if known is not None and known.is_transcendental:
        return WorkCount(transcendentals=size)
    return WorkCount(size)


def _count_nothing(operation: Operation) -> WorkCount:
    return WorkCount()


def _count_regions(operation: Operation) -> WorkCount:
    return sum(map(count_work, operation.regions), WorkCount())


def _count_choice(operation: Operation) -> WorkCount:
    return max(map(count_work, operation.regions), key=lambda each: each.total)


def _count_loop(operation: Operation) -> WorkCount:
    count = count_iterations(find_loop_counter(operation))
    return _count_regions(operation) * (1 if count is None else count)


def _count_fused_loop(operation: Operation) -> WorkCount:
    return _count_regions(operation) * int(operation.attributes["loop"].iterations)


def _count_product(operation: Operation) -> WorkCount:
    axes = operation.attributes["dot_dimension_numbers"]["lhs_contracting_dimensions"]
    terms = prod(operation.operands[0].type.shape[axis] for axis in axes)
    return WorkCount(2 * terms * operation.results[0].type.size)


def _count_packed_product(operation: Operation) -> WorkCount:
    return WorkCount(2 * operation.operands[1].type.shape[-2] * operation.results[0].type.size)


def _count_convolution(operation: Operation) -> WorkCount:
    kernel = operation.operands[1].type
    axis = operation.attributes["dimension_numbers"]["kernel_output_feature_dimension"]
    terms = kernel.size // max(kernel.shape[axis], 1)
    return WorkCount(2 * terms * operation.results[0].type.size)


def _count_reduction(operation: Operation) -> WorkCount:
    elements, results = operation.operands[0].type.size, operation.results[0].type.size
    return count_work(operation.regions[0]) * max(elements - results, 0)


def _count_windows(operation: Operation) -> WorkCount:
    elements = int(prod(operation.attributes["window_dimensions"]))
    region = count_work(operation.regions[0])
    return region * (max(elements - 1, 0) * operation.results[0].type.size)


def _count_selection(operation: Operation) -> WorkCount:
    select, scatter = map(count_work, operation.regions)
    windows = operation.operands[1].type.size
    elements = int(prod(operation.attributes["window_dimensions"]))
    return select * (max(elements - 1, 0) * windows) + scatter * windows


def _count_sort(operation: Operation) -> WorkCount:
    shape = operation.operands[0].type.shape
    length = max(shape[int(operation.attributes["dimension"])], 1) if shape else 1
    comparisons: int = operation.operands[0].type.size * ceil(log2(length))
    return count_work(operation.regions[0]) * comparisons


def _count_scatter(operation: Operation) -> WorkCount:
    count = len(operation.results)
    return count_work(operation.regions[0]) * operation.operands[count + 1].type.size


def _count_map(operation: Operation) -> WorkCount:
    return count_work(operation.regions[0]) * operation.results[0].type.size


def _count_transform(operation: Operation) -> WorkCount:
    """Count a Fourier transform of n elements as 5 n log2(n) operations."""
    elements = max(operation.operands[0].type.size, operation.results[0].type.size)
    lengths = operation.attributes.get("fft_length") or (operation.attributes.get("radix", 1),)
    return WorkCount(int(5 * elements * log2(max(prod(lengths), 1))))


def _count_matrices(flops: Callable[[int, int], int]) -> Callable[[Operation], WorkCount]:
    """Return a count of an operation on matrices, from the operations for m rows and n columns."""

    def count(operation: Operation) -> WorkCount:
        *batch, rows, columns = operation.operands[0].type.shape
        return WorkCount(prod(batch) * flops(rows, columns))

    return count


def _count_solve(operation: Operation) -> WorkCount:
    triangle, right = (each.type for each in operation.operands)
    return WorkCount(right.size * triangle.shape[-1])


_COUNTS: dict[str, Callable[[Operation], WorkCount]] = {
    **dict.fromkeys([*MOVEMENTS, *HOST_CALLS, *HOST_REGIONS, "pack_panels"], _count_nothing),
    **dict.fromkeys(FUSED, _count_regions),
    **dict.fromkeys(["case", "if"], _count_choice),
    "while": _count_loop,
    **dict.fromkeys(FUSED_LOOPS, _count_fused_loop),
    "convolution": _count_convolution,
    "dot_general": _count_product,
    "packed_product": _count_packed_product,
    "cholesky": _count_matrices(lambda m, n: n**3 // 3),
    "eigh": _count_matrices(lambda m, n: 9 * n**3),
    "fft": _count_transform,
    "householder_product": _count_matrices(lambda m, n: 2 * m * n * n),
    "lu": _count_matrices(lambda m, n: min(m, n) ** 2 * (3 * max(m, n) - min(m, n)) // 3),
    "map": _count_map,
    "qr": _count_matrices(lambda m, n: 2 * m * n * n),
    "reduce": _count_reduction,
    "reduce_window": _count_windows,
    "scatter": _count_scatter,
    "select_and_scatter": _count_selection,
    "sort": _count_sort,
    "triangular_solve": _count_solve,
}


# Count bytes of a plan.


def count_moved_bytes(kernel: GeneratedKernel) -> int:
    """Return the size of the buffers that a kernel reads and writes."""
    return sum(each.type.nbytes for each in (*kernel.inputs.values(), *kernel.outputs.values()))


def count_plan_bytes(plan: ExecutionPlan) -> int:
    """Return the bytes that the kernels of a plan read and write in a run."""
    return sum(map(_count_step_bytes, plan.steps))


def _count_step_bytes(step: PlanStep) -> int:
    inner = [count_plan_bytes(each) for each in step.plans]
    if step.operation.name == "while":
        count = count_iterations(step.counter)
        return sum(inner) * (1 if count is None else count)
    if inner:
        return max(inner)
    if step.function is not None:
        values = (*step.operation.operands, *step.operation.results)
        return sum(each.type.nbytes for each in values)
    return sum(map(count_moved_bytes, step.kernels))


def count_alias_bytes(plan: ExecutionPlan, donated: Collection[int]) -> int:
    """Return the bytes of the results that have the memory of a donated argument."""
    updated = {step.results[0]: step.updated for step in plan.steps if step.updated is not None}
    own = {plan.block.arguments[number] for number in donated}
    found = 0
    for value in set(plan.block.returned):
        source = value
        while source in updated:
            source = updated[source]
        found += value.type.nbytes if source in own else 0
    return found
