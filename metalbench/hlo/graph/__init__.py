"""Represent programs: operations on tensors in static single assignment form."""

from metalbench.hlo.graph.element import ELEMENT_TYPES, ElementType, find_element_type
from metalbench.hlo.graph.picture import format_dot
from metalbench.hlo.graph.program import (
    Block,
    Operation,
    TensorType,
    Value,
    count_uses,
    find_free_values,
    format_block,
    replace_values,
)
from metalbench.hlo.graph.splat import find_splat

__all__ = [
    "ELEMENT_TYPES",
    "Block",
    "ElementType",
    "Operation",
    "TensorType",
    "Value",
    "count_uses",
    "find_element_type",
    "find_free_values",
    "find_splat",
    "format_block",
    "format_dot",
    "replace_values",
]
