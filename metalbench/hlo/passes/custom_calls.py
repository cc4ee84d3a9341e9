"""Rename XLA's custom calls for matrix factorizations to operations of the registry."""

from __future__ import annotations

from metalbench.hlo.graph import Block, Operation, TensorType, Value
from metalbench.hlo.operations import OPERATIONS

# Names of XLA's custom call targets, and of the operations that they become.
_NAMES = {each.custom_call: name for name, each in OPERATIONS.items() if each.custom_call}


def name_custom_calls(block: Block) -> None:
    """Rename known custom calls in place, also in regions.

    Other custom calls stay: `build_plan` refuses them.
    """
    for operation in block.operations:
        for region in operation.regions:
            name_custom_calls(region)
        target = operation.attributes.get("call_target_name")
        if operation.name == "custom_call" and target in _NAMES:
            operation.name = _NAMES[target]
            if operation.name == "eigh":
                _add_workspace(operation)


def _add_workspace(eigh: Operation) -> None:
    """Add a third result: workspace for the matrix and its eigenvectors."""
    lower, ordered, *_ = eigh.attributes["backend_config"].split(",")
    eigh.attributes = {"lower": int(lower), "sorted": int(ordered)}
    type_ = eigh.operands[0].type
    *batch, rows, columns = type_.shape
    room = TensorType((*batch, 2, rows, columns), type_.element)
    eigh.results.append(Value(room, eigh, len(eigh.results)))
