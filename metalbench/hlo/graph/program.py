"""Graph of a program in static single assignment form: blocks of operations on tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from metalbench.hlo.graph.element import ElementType


@dataclass(frozen=True)
class TensorType:
    """A static shape and an element type."""

    shape: tuple[int, ...]
    element: ElementType

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        return self.size * self.element.storage.itemsize

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element.name}>"


@dataclass(eq=False)
class Value:
    """One tensor: a result of `operation`, or an argument of a block if that is None."""

    type: TensorType
    operation: Operation | None = field(default=None, repr=False)
    number: int = 0


@dataclass(eq=False)
class Block:
    """A list of operations in order, with arguments and returned values."""

    arguments: list[Value]
    operations: list[Operation] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Operation:
    """One operation; `name` has no dialect prefix, attributes are Python values."""

    name: str
    operands: list[Value]
    results: list[Value]
    attributes: dict[str, Any]
    regions: list[Block]
    location: str

    def find_captures(self) -> list[Value]:
        """Return the values that the regions use and that are defined outside of them."""
        return list(
            dict.fromkeys(each for block in self.regions for each in find_free_values(block))
        )

    def find_inputs(self) -> list[Value]:
        """Return the operands, and the captured values of the regions."""
        return [*self.operands, *self.find_captures()]

    @property
    def where(self) -> str:
        """Beginning of error messages about the operation."""
        return f"[stablehlo.{self.name}] {self.location}"


def find_free_values(block: Block) -> Iterator[Value]:
    """Yield the values that a block uses and does not define."""
    own = set(block.arguments)
    for operation in block.operations:
        yield from (each for each in operation.find_inputs() if each not in own)
        own.update(operation.results)
    yield from (each for each in block.returned if each not in own)


def replace_values(operation: Operation, new: dict[Value, Value]) -> None:
    """Replace the values that an operation and its regions read."""
    operation.operands = [new.get(each, each) for each in operation.operands]
    for region in operation.regions:
        for each in region.operations:
            replace_values(each, new)
        region.returned = [new.get(each, each) for each in region.returned]


def count_uses(block: Block) -> Counter[Value]:
    """Return how many operations of a block read each value; a returned value counts as a use."""
    found = Counter(block.returned)
    for each in block.operations:
        found.update(set(each.find_inputs()))
    return found


def format_block(block: Block, indent: str = "") -> str:
    """Return a block as readable lines; values are numbered in order."""
    return "\n".join(_format_lines(block, indent, {}))


def _format_lines(block: Block, indent: str, names: dict[Value, str]) -> Iterator[str]:
    def name(value: Value) -> str:
        return names.setdefault(value, f"%{len(names)}")

    arguments = ", ".join(f"{name(each)}: {each.type}" for each in block.arguments)
    yield f"{indent}({arguments}):"
    for operation in block.operations:
        results = ", ".join(name(each) for each in operation.results)
        operands = ", ".join(name(each) for each in operation.operands)
        shown = {key: value for key, value in operation.attributes.items() if key != "value"}
        types = ", ".join(str(each.type) for each in operation.results)
        extra = f" {shown}" if shown else ""
        yield f"{indent}  {results} = {operation.name}({operands}){extra} : {types}"
        for region in operation.regions:
            yield from _format_lines(region, indent + "    ", names)
    yield f"{indent}  return {', '.join(name(each) for each in block.returned)}"
