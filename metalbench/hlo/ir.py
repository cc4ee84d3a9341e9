"""A StableHLO program as a graph: element types, tensors, operations and blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from metalbench.errors import Unsupported


@dataclass(frozen=True)
class ElementType:
    """One element type; `kind` is b(ool), i(nteger), u(nsigned), f(loat) or c(omplex)."""

    name: str
    kind: str
    bits: int
    msl: str

    @property
    def storage(self) -> np.dtype[Any]:
        """NumPy type of one element in memory. A number of fewer than eight bits takes a byte."""
        name: Any = f"{self.kind}{max(self.bits, 8) // 8}"
        if self.is_small_float:
            # "f8E4M3FN" is float8_e4m3fn.
            name = getattr(ml_dtypes, f"float{self.name[1:].replace('E', '_e', 1).lower()}")
        elif not self.is_integer:
            name = {"bf16": ml_dtypes.bfloat16, "i1": np.bool_}.get(self.name, name)
        found: np.dtype[Any] = np.dtype(name)
        return found

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy (or ml_dtypes) type of the values."""
        if self.is_narrow:
            found: np.dtype[Any] = np.dtype(
                getattr(ml_dtypes, f"{'u' * (self.kind == 'u')}int{self.bits}")
            )
            return found
        return self.storage

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer type; bool is not one."""
        return self.kind in "iu"

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "f"

    @property
    def arithmetic(self) -> ElementType:
        """Type in which kernels compute on its numbers, or on the parts of its complex numbers."""
        if self.is_complex:
            return ELEMENT_TYPES["f64" if self.bits == 128 else "f32"]
        return ELEMENT_TYPES["f64" if self.name == "f64" else "f32"] if self.is_float else self

    @property
    def has_double(self) -> bool:
        """Whether it needs `double`, which Metal's language does not have."""
        return self.name in ("f64", "complex<f64>")

    @property
    def is_lane_float(self) -> bool:
        """Whether it is a float that lanes of a SIMD-group can exchange, and tiles can hold."""
        return self.name in ("f16", "bf16", "f32")

    @property
    def is_small_float(self) -> bool:
        """Whether it is a float of eight bits or fewer, which kernels convert to float."""
        return self.is_float and self.bits <= 8

    @property
    def is_complex(self) -> bool:
        """Whether it is a pair of floats, real part first."""
        return self.kind == "c"

    @property
    def is_narrow(self) -> bool:
        """Whether it has fewer than eight bits, and must be truncated after each operation."""
        return self.is_integer and self.bits < 8

    @property
    def wrapping(self) -> str:
        """Unsigned MSL type whose arithmetic wraps as that of StableHLO does."""
        return "ulong" if self.bits == 64 else "uint"


_WIDTHS = {2: "char", 4: "char", 8: "char", 16: "short", 32: "int", 64: "long"}
# The types with a PJRT number, in MLIR's spelling (small_floats.h).
_SMALL_FLOATS = (
    *("f4E2M1FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ"),
    *("f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"),
)
ELEMENT_TYPES = {
    each.name: each
    for each in (
        ElementType("i1", "b", 1, "bool"),
        *(ElementType(f"i{bits}", "i", bits, msl) for bits, msl in _WIDTHS.items()),
        *(ElementType(f"ui{bits}", "u", bits, f"u{msl}") for bits, msl in _WIDTHS.items()),
        *(ElementType(name, "f", int(name[1]), f"shlo::F{name[1:]}") for name in _SMALL_FLOATS),
        ElementType("f16", "f", 16, "half"),
        ElementType("bf16", "f", 16, "bfloat"),
        ElementType("f32", "f", 32, "float"),
        ElementType("f64", "f", 64, "double"),
        ElementType("complex<f32>", "c", 64, "float2"),
        ElementType("complex<f64>", "c", 128, "shlo::double2"),
    )
}


def find_element_type(name: str, where: str) -> ElementType:
    """Return the element type with StableHLO's name `name`.

    Raise Unsupported, beginning with `where`, if kernels have no such type.
    """
    found = ELEMENT_TYPES.get(name)
    if found is None:
        raise Unsupported(
            f"{where}: element type {name}: it has no type in kernels; expected one of "
            f"{', '.join(ELEMENT_TYPES)}"
        )
    return found


# Graph of a program in static single assignment form: blocks of operations on tensors.


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
class TensorValue:
    """One tensor: a result of `operation`, or an argument of a block if that is None."""

    type: TensorType
    operation: Operation | None = field(default=None, repr=False)
    number: int = 0


@dataclass(eq=False)
class Block:
    """A list of operations in order, with arguments and returned values."""

    arguments: list[TensorValue]
    operations: list[Operation] = field(default_factory=list)
    returned: list[TensorValue] = field(default_factory=list)


@dataclass(eq=False)
class Operation:
    """One operation; `name` has no dialect prefix, attributes are Python values."""

    name: str
    operands: list[TensorValue]
    results: list[TensorValue]
    attributes: dict[str, Any]
    regions: list[Block]
    location: str

    def find_captures(self) -> list[TensorValue]:
        """Return the values that the regions use and that are defined outside of them."""
        return list(
            dict.fromkeys(each for block in self.regions for each in find_free_values(block))
        )

    def find_inputs(self) -> list[TensorValue]:
        """Return the operands, and the captured values of the regions."""
        return [*self.operands, *self.find_captures()] if self.regions else list(self.operands)

    @property
    def where(self) -> str:
        """Beginning of error messages about the operation."""
        return f"[stablehlo.{self.name}] {self.location}"


def find_free_values(block: Block) -> Iterator[TensorValue]:
    """Yield the values that a block uses and does not define."""
    own = set(block.arguments)
    for operation in block.operations:
        yield from (each for each in operation.find_inputs() if each not in own)
        own.update(operation.results)
    yield from (each for each in block.returned if each not in own)


def replace_values(operation: Operation, new: dict[TensorValue, TensorValue]) -> None:
    """Replace the values that an operation and its regions read."""
    operation.operands = [new.get(each, each) for each in operation.operands]
    for region in operation.regions:
        for each in region.operations:
            replace_values(each, new)
        region.returned = [new.get(each, each) for each in region.returned]


def copy_block(block: Block, values: Mapping[TensorValue, TensorValue] | None = None) -> Block:
    """Return a copy with new values and operations; attributes are shared.

    `values` are the new values of those that the block uses and does not define; others stay.
    """
    new = dict(values or {})
    arguments = [TensorValue(each.type) for each in block.arguments]
    new.update(zip(block.arguments, arguments, strict=True))
    copied = Block(arguments)
    for each in block.operations:
        results = [TensorValue(one.type, None, one.number) for one in each.results]
        operation = Operation(
            each.name,
            [new.get(one, one) for one in each.operands],
            results,
            dict(each.attributes),
            [copy_block(region, new) for region in each.regions],
            each.location,
        )
        for one in results:
            one.operation = operation
        new.update(zip(each.results, results, strict=True))
        copied.operations.append(operation)
    copied.returned = [new.get(each, each) for each in block.returned]
    return copied


def count_uses(block: Block) -> Counter[TensorValue]:
    """Return how many operations of a block read each value; a returned value counts as a use."""
    found = Counter(block.returned)
    for each in block.operations:
        found.update(set(each.find_inputs()))
    return found


def format_block(block: Block, indent: str = "") -> str:
    """Return a block as readable lines; values are numbered in order."""
    return "\n".join(_format_lines(block, indent, {}))


def _format_lines(block: Block, indent: str, names: dict[TensorValue, str]) -> Iterator[str]:
    def name(value: TensorValue) -> str:
        return names.setdefault(value, f"%{len(names)}")

    arguments = ", ".join(f"{name(each)}: {each.type}" for each in block.arguments)
    yield f"{indent}({arguments}):"
    for operation in block.operations:
        results = ", ".join(name(each) for each in operation.results)
        operands = ", ".join(name(each) for each in operation.operands)
        hidden = ("value", "plan")
        shown = {key: value for key, value in operation.attributes.items() if key not in hidden}
        types = ", ".join(str(each.type) for each in operation.results)
        extra = f" {shown}" if shown else ""
        yield f"{indent}  {results} = {operation.name}({operands}){extra} : {types}"
        for region in operation.regions:
            yield from _format_lines(region, indent + "    ", names)
    yield f"{indent}  return {', '.join(name(each) for each in block.returned)}"


# Find splats: constants whose elements are all equal.

Array = np.ndarray[Any, Any]


def find_splat(array: Array) -> Array | None:
    """Return the element that all elements of an array equal bit by bit, or None.

    An empty array has none.
    """
    if not array.size:
        return None
    first = np.asarray(array[(0,) * array.ndim])
    if any(array.strides):
        # An element of a complex type has 16 bytes, and NumPy's integers have 8 or fewer.
        bits = array.reshape(-1, 1).view(f"u{min(array.itemsize, 8)}")
        if (bits != bits[0]).any():
            return None
    return first


# Format a graph as DOT, the input language of Graphviz.


def format_dot(block: Block) -> str:
    """Return DOT text: operations are boxes, values are edges, regions are clusters."""
    return "\n".join(
        ["digraph program {", "  node [shape=box];", *_DotWriter().format_block(block), "}"]
    )


class _DotWriter:
    """Writer of the DOT text of one graph."""

    def __init__(self) -> None:
        self._names: dict[TensorValue, str] = {}
        self._count = 0

    def _make_name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def format_block(self, block: Block, indent: str = "  ") -> Iterator[str]:
        """Yield the lines of a block, its arguments and its returned values."""
        for number, value in enumerate(block.arguments):
            name = self._names[value] = self._make_name()
            yield f'{indent}{name} [label="argument {number}", shape=ellipse];'
        for operation in block.operations:
            yield from self._format_operation(operation, indent)
        name = self._make_name()
        yield f'{indent}{name} [label="return", shape=ellipse];'
        yield from self._format_edges(block.returned, name, indent)

    def _format_operation(self, operation: Operation, indent: str) -> Iterator[str]:
        name = self._make_name()
        yield f'{indent}{name} [label="{operation.name}"];'
        yield from self._format_edges(operation.operands, name, indent)
        for number, region in enumerate(operation.regions):
            yield f'{indent}subgraph "cluster_{name}_{number}" {{'
            yield f'{indent}  label="{operation.name} {name}";'
            yield from self.format_block(region, indent + "  ")
            yield f"{indent}}}"
        self._names.update(dict.fromkeys(operation.results, name))

    def _format_edges(self, values: list[TensorValue], name: str, indent: str) -> Iterator[str]:
        for value in values:
            yield f'{indent}{self._names[value]} -> {name} [label="{value.type}"];'


# Represent programs: operations on tensors in static single assignment form.
