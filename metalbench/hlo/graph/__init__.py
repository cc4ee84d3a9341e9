"""What a program is: a graph of operations on tensors, in static single assignment."""

from metalbench.hlo.graph.element import ELEMENTS, Element, element
from metalbench.hlo.graph.picture import picture
from metalbench.hlo.graph.program import Block, Operation, TensorType, Value, free_values, text
from metalbench.hlo.graph.splat import splat

__all__ = [
    "ELEMENTS",
    "Block",
    "Element",
    "Operation",
    "TensorType",
    "Value",
    "element",
    "free_values",
    "picture",
    "splat",
    "text",
]
