"""Restore batch axes of one element that tracing has removed from a product.

Tracers omit such axes in a product and insert them after it, so the shapes of neighbouring rows and
products differ, and attention is not recognised. Precondition: the product has no batches, and its
only use is a reshape or broadcast that inserts axes of one element in front.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from metalbench.hlo.graph import Block, Operation, TensorType, Value, replace_values
from metalbench.hlo.operations import CONTROL_FLOW


def restore_unit_batches(block: Block) -> None:
    """Restore the batch axes in place, also in regions of control flow."""
    uses = Counter(block.returned)
    for each in block.operations:
        uses.update(each.find_inputs())
    for operation in list(block.operations):
        if operation.name in CONTROL_FLOW:
            for region in operation.regions:
                restore_unit_batches(region)
        product = operation.operands[0].operation if operation.operands else None
        if (
            product in block.operations
            and _can_restore(operation, product)
            and uses[product.results[0]] == 1
        ):
            _restore(block, product, operation)


def _can_restore(reader: Operation, product: Operation) -> bool:
    """Return whether `reader` only inserts axes of one element in front of a product."""
    if product.name != "dot_general" or reader.name not in ("reshape", "broadcast_in_dim"):
        return False
    old, new = product.results[0].type.shape, reader.results[0].type.shape
    count = len(new) - len(old)
    places = tuple(range(count, len(new)))
    return (
        count > 0
        and new == (1,) * count + old
        and tuple(reader.attributes.get("broadcast_dimensions", places)) == places
        and not product.attributes["dot_dimension_numbers"]["lhs_batching_dimensions"]
    )


def _restore(block: Block, product: Operation, reader: Operation) -> None:
    type_ = reader.results[0].type
    count = len(type_.shape) - len(product.results[0].type.shape)
    given = [_prepend_unit_axes(each, count, product) for each in product.operands]
    numbers = product.attributes["dot_dimension_numbers"]
    operation = replace(
        product,
        operands=[each for each, _ in given],
        results=[],
        attributes={**product.attributes, "dot_dimension_numbers": _shift_axes(numbers, count)},
    )
    operation.results = [Value(type_, operation)]
    at = block.operations.index(product)
    new = {reader.results[0]: operation.results[0]}
    for each in block.operations[at + 1 :]:
        replace_values(each, new)
    block.returned = [new.get(each, each) for each in block.returned]
    block.operations[at : at + 1] = [*(each for _, one in given for each in one), operation]
    block.operations.remove(reader)


def _shift_axes(numbers: dict[str, tuple[int, ...]], count: int) -> dict[str, tuple[int, ...]]:
    found = {}
    for name, axes in numbers.items():
        later = tuple(each + count for each in axes)
        found[name] = tuple(range(count)) if "batching" in name else later
    return found


def _prepend_unit_axes(value: Value, count: int, like: Operation) -> tuple[Value, list[Operation]]:
    """Return a value with `count` axes of one element in front, and its new operations."""
    type_ = TensorType((1,) * count + value.type.shape, value.type.element)
    producer = value.operation
    if producer is not None and producer.name == "reshape" and producer.operands[0].type == type_:
        return producer.operands[0], []
    found = Operation("reshape", [value], [], {}, [], like.location)
    found.results = [Value(type_, found)]
    return found.results[0], [found]
