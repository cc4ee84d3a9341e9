"""Operations with more operands than a kernel has buffers, as trees of smaller ones."""

from __future__ import annotations

from dataclasses import replace

from metalbench.hlo.graph import Block, Operation, TensorType, Value

MOST_OPERANDS = 16


def split_concatenations(block: Block) -> None:
    """Concatenate many operands in groups, in place, also in the regions."""
    operations: list[Operation] = []
    for operation in block.operations:
        for region in operation.regions:
            split_concatenations(region)
        while operation.name == "concatenate" and len(operation.operands) > MOST_OPERANDS:
            groups = [
                operation.operands[start : start + MOST_OPERANDS]
                for start in range(0, len(operation.operands), MOST_OPERANDS)
            ]
            parts = [_part(operation, group) for group in groups]
            operations += parts
            operation.operands = [each.results[0] for each in parts]
        operations.append(operation)
    block.operations = operations


def _part(whole: Operation, operands: list[Value]) -> Operation:
    axis = whole.attributes["dimension"]
    shape = list(operands[0].type.shape)
    shape[axis] = sum(each.type.shape[axis] for each in operands)
    made = replace(whole, operands=operands, results=[])
    made.results = [Value(TensorType(tuple(shape), operands[0].type.element), made)]
    return made
