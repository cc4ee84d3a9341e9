"""Choose which values kernels inline, and split kernels with too many buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from metalbench.hlo.ir import Block, Operation, TensorValue, count_uses, find_splat
from metalbench.hlo.operations import (
    ELEMENTWISE,
    FUSED,
    FUSED_LOOPS,
    LOOPS,
    OPERATIONS,
    estimate_cost,
    is_elementwise,
)

# Metal binds 31 buffers to a kernel; some are results.
_MAX_LOADS = 20
# Expressions of a kernel: long kernels compile slowly. Threefry, the random generator of JAX, has
# about 130. Each of its rounds passes two values to the next one, and a split stores only one of
# them, so with a limit below 130 each kernel would repeat the previous rounds.
_MAX_EXPRESSIONS = 200


@dataclass
class _KernelBody:
    """The code of an element: the values that it loads, and its expressions.

    `lengths` maps each operation to its number of expressions. An operation at the same index as
    for another user is emitted once for both.
    """

    loads: set[TensorValue] = field(default_factory=set)
    lengths: dict[Operation, int] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Number of expressions."""
        return sum(self.lengths.values())

    def can_merge(self, other: _KernelBody) -> bool:
        """Return whether one kernel can hold both bodies."""
        length = sum((self.lengths | other.lengths).values())
        return len(self.loads | other.loads) <= _MAX_LOADS and length < _MAX_EXPRESSIONS

    def merge(self, other: _KernelBody) -> None:
        """Add the loads and expressions of another body."""
        self.loads |= other.loads
        self.lengths |= other.lengths


def split_large_kernels(block: Block, inlined: set[TensorValue]) -> None:
    """Store values in buffers where a kernel would be too long or read too many buffers."""
    texts: dict[TensorValue, _KernelBody] = {}
    for operation in block.operations:
        found = _KernelBody()
        for value in operation.find_inputs():
            inner = (
                texts.get(value, _KernelBody({value})) if value in inlined else _KernelBody({value})
            )
            producer = value.operation
            is_part = producer is not None and producer.name != "constant" and value in inlined
            if is_part and producer is not None and not found.can_merge(inner):
                inlined.difference_update(producer.results)
                inner = _KernelBody({value})
            found.merge(inner)
        if not is_elementwise(operation):
            # It reads its operands at other indices, so it shares no expressions.
            found = _KernelBody(found.loads, {operation: found.length + 1})
        else:
            found.lengths[operation] = 1
        texts.update(dict.fromkeys(operation.results, found))


# Decide which values are computed where they are used, and which get a buffer.
#
# Level 0 creates one kernel for each operation. Level 2 inlines a value if its cost and its number
# of accesses allow it. Accesses are counted from the results backwards.

# Repeated arithmetic that an inlined element may cost, in additions: about that of a load.
_MAX_REPEATED_COST = 16
# Parts of a concatenation that may each compute the same cheap value.
_MAX_PARTS = 2


def choose_inlined_values(block: Block, level: int, whole: Collection[str]) -> set[TensorValue]:
    """Return the values that get no buffer; `whole` names the operations that need buffers.

    Constants of one element are always inlined.
    """
    inlined = {
        each.results[0]
        for each in block.operations
        if each.name == "constant" and each.results[0].type.size == 1
    }
    kept = {*block.returned, *_find_materialized_values(block, whole)}
    if level == 0:
        return inlined - kept
    found = _inline_by_accesses(block, kept, whole)
    _inline_epilogues(block, found, kept)
    _separate_convolutions(block, found)
    split_large_kernels(block, found)
    return found


def _find_materialized_values(block: Block, whole: Collection[str]) -> set[TensorValue]:
    """Return operands and results that need buffers, because their operation has its own kernel.

    So do results of loops that run during a host region: as a part of a later kernel, they would
    run after it.
    """
    kept: set[TensorValue] = set()
    regions = 0
    for each in block.operations:
        regions += (each.name == "host_begin") - (each.name == "host_end")
        if regions and each.name in LOOPS:
            kept.update(each.results)
        if each.name in whole and not _reads_once(each):
            kept.update(each.find_inputs(), each.results)
        elif each.name in whole or each.name in FUSED:
            kept.update(each.results)
    return kept


def _reads_once(operation: Operation) -> bool:
    known = OPERATIONS.get(operation.name)
    return known is not None and known.reads_operand_once


def _inline_by_accesses(
    block: Block, kept: set[TensorValue], whole: Collection[str]
) -> set[TensorValue]:
    """Return the values that the cost model inlines."""
    costs = _estimate_costs(block)
    products = _find_epilogues(block)
    accesses: Counter[TensorValue] = Counter()
    users: dict[TensorValue, list[Operation]] = {}
    inlined: set[TensorValue] = set()
    for operation in reversed(block.operations):
        for value in operation.results:
            if value in kept or (value in products and not _ends_elementwise(value, users)):
                continue
            if _is_cheap(value, accesses, users, costs, inlined):
                inlined.add(value)
        for value in operation.find_inputs():
            users.setdefault(value, []).append(operation)
            accesses[value] += _count_accesses(operation, value, accesses, inlined)
    for operation in block.operations:
        # Results of one operation are inlined together or not at all.
        if any(each not in inlined for each in operation.results):
            inlined.difference_update(operation.results)
    return inlined


def _find_epilogues(block: Block) -> set[TensorValue]:
    """Return the matrix products, and the values that are computed from one element of one."""
    uses = count_uses(block)
    found: set[TensorValue] = set()
    for operation in block.operations:
        result = operation.results[0] if operation.results else None
        if is_matrix_product(operation) or (
            is_elementwise(operation)
            and any(
                each in found and uses[each] == 1 and each.type.shape == result.type.shape
                for each in operation.operands
                if result is not None
            )
        ):
            found.update(operation.results)
    return found


def _ends_elementwise(value: TensorValue, users: dict[TensorValue, list[Operation]]) -> bool:
    """Return whether only elementwise operations on the same shape use a value.

    Only they can use tiles: movements would need single elements of a product.
    """
    shape = value.type.shape
    return all(
        each.name in ELEMENTWISE and each.results[0].type.shape == shape
        for each in users.get(value, [])
    )


def _inline_epilogues(block: Block, inlined: set[TensorValue], kept: set[TensorValue]) -> None:
    """Inline values that one kernel uses several times at the same index, in place.

    A kernel computes an element at an index once. If the parts of a concatenation use a value, each
    part computes it, so only values of low cost are inlined there.
    """
    users: dict[TensorValue, list[Operation]] = {}
    for operation in block.operations:
        for value in operation.find_inputs():
            users.setdefault(value, []).append(operation)
    for operation in reversed(block.operations):
        value = operation.results[0]
        may_be = operation.name in ("dot_general", "packed_product") or is_elementwise(operation)
        stored = may_be and value not in kept and value not in inlined
        if stored and (
            len(_find_roots(value, users, inlined)) == 1
            or (
                1 <= len(_find_concatenation_parts(value, users, inlined)) <= _MAX_PARTS
                and _is_simple(value, inlined)
            )
        ):
            inlined.add(value)


def _separate_convolutions(block: Block, inlined: set[TensorValue]) -> None:
    """Give a kernel one convolution, the one with the most weights, in place.

    A thread computes a tile of that. Each element of another one would be computed by itself, with
    the code of its loops repeated for each element of the tile.
    """
    users: dict[TensorValue, list[Operation]] = {}
    for operation in block.operations:
        for value in operation.find_inputs():
            users.setdefault(value, []).append(operation)
    taken: set[TensorValue | None] = set()
    found = [each for each in block.operations if each.name == "convolution"]
    for operation in sorted(found, key=lambda each: -each.operands[1].type.size):
        value = operation.results[0]
        if value not in inlined:
            continue
        roots = _find_roots(value, users, inlined)
        if taken.isdisjoint(roots):
            taken.update(roots)
        else:
            inlined.discard(value)


def _find_roots(
    value: TensorValue, users: dict[TensorValue, list[Operation]], inlined: set[TensorValue]
) -> set[TensorValue | None]:
    """Return the stored values that depend elementwise on a value, and None for other uses."""
    found: set[TensorValue | None] = set()
    waiting, seen = [value], {value}
    while waiting:
        for each in users.get(waiting.pop(), []):
            result = each.results[0]
            if not is_elementwise(each) or result.type.shape != value.type.shape:
                return {None, value}
            if result not in inlined:
                found.add(result)
            elif result not in seen:
                seen.add(result)
                waiting.append(result)
    return found


def _find_concatenation_parts(
    value: TensorValue, users: dict[TensorValue, list[Operation]], inlined: set[TensorValue]
) -> set[tuple[TensorValue, int]]:
    """Return the concatenations that use a value, with the operand's number.

    Elementwise operations, and movements that add or drop axes of one element, may be in between.
    The set is empty if any other operation uses the value.
    """
    found: set[tuple[TensorValue, int]] = set()
    waiting, seen = [value], {value}
    while waiting:
        operand = waiting.pop()
        for each in users.get(operand, []):
            result = each.results[0]
            if each.name == "concatenate" and result not in inlined:
                found.update((result, n) for n, one in enumerate(each.operands) if one is operand)
            elif result not in inlined or not is_index_preserving(each, operand):
                return set()
            elif result not in seen:
                seen.add(result)
                waiting.append(result)
    return found


def is_index_preserving(operation: Operation, operand: TensorValue) -> bool:
    """Return whether an element depends on the operand's element at the same index.

    Axes of one element are ignored.
    """
    result = operation.results[0]
    if operation.name in ("reshape", "broadcast_in_dim"):
        old, new = ([n for n in each.type.shape if n != 1] for each in (operand, result))
        axes = list(operation.attributes.get("broadcast_dimensions", ()))
        return old == new and axes == sorted(axes)
    return is_elementwise(operation) and result.type.shape == operand.type.shape


def _is_simple(value: TensorValue, inlined: set[TensorValue]) -> bool:
    """Return whether a value, with all values inlined into it, costs no more than additions."""
    waiting, seen = [value], {value}
    while waiting:
        operation = waiting.pop().operation
        if operation is None or estimate_cost(operation) > 1 or operation.regions:
            return False
        for each in operation.operands:
            if each in inlined and each not in seen:
                seen.add(each)
                waiting.append(each)
    return True


def _is_cheap(
    value: TensorValue,
    accesses: Counter[TensorValue],
    users: dict[TensorValue, list[Operation]],
    costs: dict[TensorValue, int],
    inlined: set[TensorValue],
) -> bool:
    """Return whether a value costs less to compute at each access than to store."""
    operation = value.operation
    if operation is None:
        return False
    if operation.name == "constant":
        return value.type.size == 1 or find_splat(operation.attributes["value"]) is not None
    repeats = accesses[value] / max(value.type.size, 1)
    if is_matrix_product(operation):
        return repeats <= 1
    if operation.name in LOOPS:
        # Inline it as the beginning of an epilogue: each element is used once, at its index.
        return repeats <= 1 and all(
            each.name not in LOOPS
            and each.name not in FUSED
            and each.results[0].type.size == value.type.size
            for each in users.get(value, [])
        )
    return (
        repeats <= 1
        or _is_free_to_inline(value, users, inlined)
        or costs[value] * (repeats - 1) <= _MAX_REPEATED_COST
    )


def is_matrix_product(operation: Operation) -> bool:
    """Return whether a product reads each element of both operands for many result elements."""
    if operation.name == "packed_product":
        return True
    if operation.name != "dot_general":
        return False
    numbers = operation.attributes["dot_dimension_numbers"]
    shared = sum(len(numbers[f"lhs_{each}_dimensions"]) for each in ("batching", "contracting"))
    return all(len(each.type.shape) > shared for each in operation.operands)


def _is_free_to_inline(
    value: TensorValue, users: dict[TensorValue, list[Operation]], inlined: set[TensorValue]
) -> bool:
    """Return whether an element is found in the operand as fast as in a copy."""
    operation = value.operation
    if operation is None:
        return False
    if operation.name == "reshape" and value.type.size == 1:
        return True  # the index is constant
    if operation.name in ("transpose", "reshape"):
        return _is_read_by_attention(value, users, inlined)
    if operation.name == "slice":
        return all(each == 1 for each in operation.attributes["strides"])
    return operation.name in ("broadcast", "broadcast_in_dim")


def _is_read_by_attention(
    value: TensorValue, users: dict[TensorValue, list[Operation]], inlined: set[TensorValue]
) -> bool:
    """Return whether only attention reads a value, directly or through movements.

    Attention reads rows of its operands, and reads them often.
    """
    return all(
        each.name == "attention"
        or (
            each.name in ("transpose", "reshape", "slice")
            and each.results[0] in inlined
            and _is_read_by_attention(each.results[0], users, inlined)
        )
        for each in users.get(value, [])
    )


def _estimate_costs(block: Block) -> dict[TensorValue, int]:
    """Return the cost of an element of each value, if all of its inputs were inlined."""
    costs: dict[TensorValue, int] = {}
    for operation in block.operations:
        below = sum(costs.get(each, 1) for each in operation.find_inputs())
        cost = min(below + estimate_cost(operation), 10**6)
        costs.update(dict.fromkeys(operation.results, cost))
    return costs


def _count_accesses(
    operation: Operation,
    value: TensorValue,
    accesses: Counter[TensorValue],
    inlined: set[TensorValue],
) -> int:
    """Return how many elements of an operand an operation reads."""
    result = operation.results[0]
    if operation.name in FUSED or operation.name in FUSED_LOOPS:
        return _count_fused_accesses(operation, value)
    times = accesses[result] if result in inlined else max(result.type.size, 1)
    first = operation.operands[0]
    if value not in operation.operands:  # captured by a region
        return times * max(first.type.size // max(result.type.size, 1), 1)
    if operation.name == "reduce":
        half = len(operation.operands) // 2
        inside = value in operation.operands[:half]
        return times * max(value.type.size // max(result.type.size, 1), 1) if inside else times
    if operation.name in LOOPS:
        return times * 10**4
    if operation.attributes.get("looped"):
        # A step with a large radix computes a sum for each element.
        times *= operation.attributes["radix"]
    if operation.name in ("pad", "concatenate", "dynamic_update_slice"):
        # Only this share of the result's elements comes from the operand.
        return max(times * value.type.size // max(result.type.size, 1), 1)
    return times


def _count_fused_accesses(operation: Operation, value: TensorValue) -> int:
    """Return how many elements of an input a fused operation reads."""
    if operation.name in FUSED_LOOPS:
        return value.type.size * int(operation.attributes["loop"].iterations)
    region = operation.regions[0].operations
    factors = [each for one in region if one.name == "dot_general" for each in one.operands]
    if operation.name == "attention" or value in factors:
        # Every row reads it again, so its arithmetic must not be inlined.
        return value.type.size * (_MAX_REPEATED_COST + 2)
    return max(each.type.size for one in region for each in one.results)


# Choose updates that write only the elements that change.

# Smallest ratio of the elements of a tensor to those of its update: a smaller update would cost a
# copy and a kernel in place of one kernel where the tensor has other uses.
_LEAST_RATIO = 4


def find_updates_in_place(block: Block, inlined: set[TensorValue]) -> list[TensorValue]:
    """Return the results of updates that may use the buffer of their operand.

    The kernel must not read the operand, since its threads write to it in any order. A replacement
    that is computed from the operand is therefore stored in another buffer: it is removed from
    `inlined`.
    """
    found = []
    for operation in block.operations:
        if operation.name != "dynamic_update_slice" or operation.results[0] in inlined:
            continue
        operand, *others = operation.operands
        update = others[0]
        if operand in inlined or operand.type.size < _LEAST_RATIO * update.type.size:
            continue
        for each in others:
            if _reads(each, operand, inlined) and each.operation is not None:
                inlined.difference_update(each.operation.results)
        if not any(each is operand or _reads(each, operand, inlined) for each in others):
            found.append(operation.results[0])
    return found


def can_scatter_in_place(operation: Operation, inlined: set[TensorValue]) -> bool:
    """Return whether a scatter of one tensor may use the buffer of its operand."""
    if operation.name != "scatter" or len(operation.results) != 1:
        return False
    operand, *others = operation.operands
    return operand not in inlined and not any(_reads(each, operand, inlined) for each in others)


def _reads(value: TensorValue, other: TensorValue, inlined: set[TensorValue]) -> bool:
    """Return whether a kernel that inlines `value` reads `other`."""
    waiting, seen = [value], {value}
    while waiting:
        each = waiting.pop()
        if each is other:
            return True
        if each in inlined and each.operation is not None:
            new = [one for one in each.operation.find_inputs() if one not in seen]
            seen.update(new)
            waiting += new
    return False
