"""Build the graph of a legalised MLIR function."""

from __future__ import annotations

from math import prod
from typing import Any

from metalbench.errors import Unsupported
from metalbench.hlo.graph import Block, Operation, TensorType, Value, find_element_type
from metalbench.hlo.operations import check_arity
from metalbench.hlo.reading.attributes import import_attributes
from metalbench.hlo.reading.constants import import_constant
from metalbench.hlo.reading.location import format_location

# Indices in kernels are 32-bit integers.
MAX_ELEMENTS = 2**31 - 1
_TERMINATORS = ("func.return", "stablehlo.return")


def import_block(mlir: Any, values: dict[Any, Value] | None = None) -> Block:
    """Return the graph of an MLIR block; `values` maps the values that the block may capture.

    Raise Unsupported with the operation's name for element types that kernels do not have, for
    branches between blocks, and for another number of operands, results or regions than the
    registered one.
    """
    values = dict(values or {})
    block = Block(
        [
            Value(import_type(each.type, f"argument {number}"))
            for number, each in enumerate(mlir.arguments)
        ]
    )
    values.update(zip(mlir.arguments, block.arguments, strict=True))
    *inner, terminator = (each.operation for each in mlir.operations)
    if terminator.name not in _TERMINATORS:
        raise Unsupported(
            f"[{terminator.name}] {format_location(terminator)}: expected one block that ends with "
            f"{' or '.join(_TERMINATORS)}; use stablehlo.if, stablehlo.case or stablehlo.while"
        )
    for each in inner:
        block.operations.append(_import_operation(each, values))
    block.returned = [values[each] for each in terminator.operands]
    return block


def _import_operation(mlir: Any, values: dict[Any, Value]) -> Operation:
    """Return the graph's operation for an MLIR operation, and add its results to `values`."""
    dialect, _, name = mlir.name.partition(".")
    where = f"[{mlir.name}] {format_location(mlir)}"
    if dialect != "stablehlo":
        raise Unsupported(f"{where}: operations of the dialect {dialect} are not supported")
    types = [import_type(each.type, where) for each in mlir.results]
    operation = Operation(
        name=name,
        operands=[values[each] for each in mlir.operands],
        results=[],
        attributes={"value": import_constant(mlir, types[0])}
        if name == "constant"
        else import_attributes(mlir),
        regions=[import_block(each.blocks[0], values) for each in mlir.regions],
        location=format_location(mlir),
    )
    operation.results = [Value(each, operation, number) for number, each in enumerate(types)]
    check_arity(operation)
    values.update(zip(mlir.results, operation.results, strict=True))
    return operation


def import_type(mlir: Any, where: str) -> TensorType:
    """Return the type of a tensor.

    Raise Unsupported, beginning with `where`, for other types and dynamic shapes.
    """
    from jaxlib.mlir import ir

    if not isinstance(mlir, ir.RankedTensorType):
        raise Unsupported(f"{where}: expected tensors, got {mlir}")
    tensor = ir.RankedTensorType(mlir)
    if not tensor.has_static_shape:
        raise Unsupported(f"{where}: expected a static shape, got {mlir}; refine the shapes first")
    shape = tuple(tensor.shape)
    if prod(shape) > MAX_ELEMENTS:
        raise Unsupported(f"{where}: expected at most {MAX_ELEMENTS} elements, got {mlir}")
    return TensorType(shape, find_element_type(str(tensor.element_type), where))
