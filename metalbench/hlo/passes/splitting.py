"""Lower operations on many values: a kernel has few buffers and one iteration space."""

from __future__ import annotations

from dataclasses import replace

from metalbench.hlo.graph import Block, Operation, TensorType, Value

MAX_OPERANDS = 16


def lower_barriers(block: Block) -> None:
    """Give each operand of an optimization barrier a separate barrier, in place.

    The operands may differ in shape and element type, and a kernel has one iteration space. Each
    barrier still hides its operand from optimisations.
    """
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            lower_barriers(region)
        if operation.name == "optimization_barrier":
            operations += _lower_barrier(operation)
        else:
            operations.append(operation)
    block.operations = operations


def _lower_barrier(whole: Operation) -> list[Operation]:
    operations = []
    for operand, result in zip(whole.operands, whole.results, strict=True):
        part = replace(whole, operands=[operand], results=[result])
        result.operation, result.number = part, 0
        operations.append(part)
    return operations


def lower_concatenations(block: Block) -> None:
    """Concatenate many operands in groups, in place, also in regions."""
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            lower_concatenations(region)
        while operation.name == "concatenate" and len(operation.operands) > MAX_OPERANDS:
            groups = [
                operation.operands[start : start + MAX_OPERANDS]
                for start in range(0, len(operation.operands), MAX_OPERANDS)
            ]
            parts = [_concatenate_group(operation, group) for group in groups]
            operations += parts
            operation.operands = [each.results[0] for each in parts]
        operations.append(operation)
    block.operations = operations


def _concatenate_group(whole: Operation, operands: list[Value]) -> Operation:
    """Return the concatenation of some of the operands."""
    axis = whole.attributes["dimension"]
    shape = list(operands[0].type.shape)
    shape[axis] = sum(each.type.shape[axis] for each in operands)
    operation = replace(whole, operands=operands, results=[])
    operation.results = [Value(TensorType(tuple(shape), operands[0].type.element), operation)]
    return operation
