"""Custom calls of XLA's own, by which jax factors matrices, as operations by their names."""

from __future__ import annotations

from metalbench.hlo.graph import Block, Operation, TensorType, Value
from metalbench.hlo.operations import OPERATIONS

# The names that XLA's expanders know them by, and what they are here.
_NAMES = {each.custom_call: name for name, each in OPERATIONS.items() if each.custom_call}


def name_custom_calls(block: Block) -> None:
    """Name such calls in place, also in the regions; others stay, and are refused later."""
    for operation in block.operations:
        for region in operation.regions:
            name_custom_calls(region)
        target = operation.attributes.get("call_target_name")
        if operation.name == "custom_call" and target in _NAMES:
            operation.name = _NAMES[target]
            if operation.name == "eigh":
                _add_workspace(operation)


def _add_workspace(eigh: Operation) -> None:
    """A third result, in which the matrix becomes diagonal, and what that takes."""
    lower, ordered, *_ = eigh.attributes["backend_config"].split(",")
    eigh.attributes = {"lower": int(lower), "sorted": int(ordered)}
    type_ = eigh.operands[0].type
    *batch, rows, columns = type_.shape
    room = TensorType((*batch, 2, rows, columns), type_.element)
    eigh.results.append(Value(room, eigh, len(eigh.results)))
