"""Write MSL: literals of numbers, types, statements and loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalbench.hlo.ir import (
    Block,
    ElementType,
    Operation,
    TensorType,
    TensorValue,
    find_splat,
)


def format_literal(value: Any, element: ElementType) -> str:
    """Return an MSL expression of an element type with exactly this value."""
    if element.kind == "b":
        return "true" if value else "false"
    if element.is_float:
        return _format_float(value, element)
    if element.is_complex:
        real, imaginary = (_format_float(each, element.arithmetic) for each in split_complex(value))
        return f"{element.msl}({real}, {imaginary})"
    number = int(value)
    if element.bits == 64:
        text = f"{number & (2**64 - 1)}ul" if element.kind == "u" else f"{number}l"
        return f"long({number & (2**64 - 1)}ul)" if number == -(2**63) else text
    if number == -(2**31):
        return "int(0x80000000u)"
    return f"{element.msl}({number}{'u' if element.kind == 'u' else ''})"


def _format_float(value: Any, element: ElementType) -> str:
    wide = element.arithmetic
    if element.is_small_float:
        bits = int(np.asarray(value).astype(element.storage).view(np.uint8))
        return f"{element.msl}::of_bits({bits:#x}u)"
    number = np.asarray(value).astype(wide.storage)[()]
    if not np.isfinite(number):
        bits = int(np.asarray(value, element.storage).view(f"u{element.bits // 8}"))
        integer = {64: "ulong", 32: "uint"}.get(element.bits, "ushort")
        return f"as_type<{element.msl}>({integer}({bits:#x}u{'l' * (element.bits == 64)}))"
    # Only the engine's compiler has literals of double, and only with this suffix.
    text, suffix = f"{number!s}", "L" if wide.has_double else "f"
    literal = f"{text}{suffix}" if "." in text or "e" in text else f"{text}.0{suffix}"
    return literal if element == wide else f"{element.msl}({literal})"


def split_complex(value: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary part of a complex number."""
    number = np.complex128(value)
    return number.real, number.imag


def format_lowest(element: ElementType) -> str:
    """Return the smallest value of an integer type."""
    return format_literal(0 if element.kind == "u" else -(2 ** (element.bits - 1)), element)


# Format arithmetic of loops over matrices, in float or on complex numbers.


class Arithmetic:
    """Expressions on one element type, in the `type` that sums are accumulated in.

    `real` is the type of the real part of that.
    """

    def __init__(self, element: ElementType) -> None:
        self._is_complex = element.is_complex
        self.real = element.arithmetic.msl
        self.type = element.msl if element.is_complex else self.real

    def widen(self, name: str) -> str:
        """Return an element in the accumulation type."""
        return f"{self.type}({name})"

    def multiply(self, left: str, right: str) -> str:
        """Return a product."""
        return f"shlo::times({left}, {right})" if self._is_complex else f"{left} * {right}"

    def divide(self, left: str, right: str) -> str:
        """Return a quotient."""
        return f"shlo::divide({left}, {right})" if self._is_complex else f"{left} / {right}"

    def divide_by_real(self, left: str, right: str) -> str:
        """Return a quotient by a number whose imaginary part is zero."""
        return f"{left} / {right}.x" if self._is_complex else f"{left} / {right}"

    def conjugate(self, name: str) -> str:
        """Return the complex conjugate."""
        return f"shlo::conjugate({name})" if self._is_complex else name

    def format_sqrt(self, name: str) -> str:
        """Return the square root of a number whose imaginary part is zero."""
        if self._is_complex:
            return f"{self.type}(shlo::sqrt({name}.x), 0.0f)"
        return f"shlo::sqrt({name})"


# Write the body of a kernel: each value at an index is emitted once in a scope.

Index = tuple[str, ...]
# Number of the thread, in kernels with one thread for each element.
THREAD = "int(i)"
_NAME = re.compile(r"\b[A-Za-z_]+\d+\b")
_INDEX_DECLARATION = re.compile(r" *const int (\w+) = ")
# Emits an operation at an index of its results; returns the names of their elements.
Emitter = Callable[["KernelWriter", Operation, Index], Sequence[str]]


@dataclass(frozen=True)
class IndexPart:
    """A part of a row-major number: `linear / divisor % modulus`, without a modulus if it is None.

    `linear` is a nonnegative MSL expression of one word.
    """

    linear: str
    divisor: int = 1
    modulus: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether this is the number itself."""
        return self.divisor == 1 and self.modulus is None

    def select(self, stride: int, size: int | None) -> IndexPart | None:
        """Return this number `/ stride % size`, if that is a part of the same number."""
        if self.modulus is None:
            return IndexPart(self.linear, self.divisor * stride, size)
        rest = self.modulus // stride
        if self.modulus % stride or (size is not None and rest % size):
            return None
        return IndexPart(self.linear, self.divisor * stride, rest if size is None else size)

    def join(self, outer: IndexPart) -> IndexPart | None:
        """Return the part `self + modulus * outer`, if it is one."""
        if self.modulus is None or self.linear != outer.linear:
            return None
        if outer.divisor != self.divisor * self.modulus:
            return None
        joined = None if outer.modulus is None else self.modulus * outer.modulus
        return replace(self, modulus=joined)

    def format(self) -> str:
        """Return the MSL expression."""
        text = self.linear if self.divisor == 1 else f"{self.linear} / {self.divisor}"
        if self.modulus is None:
            return text
        return f"{text} % {self.modulus}" if self.divisor == 1 else f"({text}) % {self.modulus}"


class KernelWriter:
    """Lines of MSL; a value is emitted at its use, unless it is in a buffer.

    `emitters` maps the names of operations to functions that emit them.
    """

    def __init__(self, emitters: dict[str, Emitter], inlined: set[TensorValue]) -> None:
        self.lines: list[str] = []
        self.buffers: dict[TensorValue, str] = {}
        self._emitters = emitters
        self._inlined = set(inlined)
        self._known: list[dict[object, str]] = [{}]
        self._bound: dict[TensorValue, str] = {}
        # Parts of the thread's number, by the names of constants or the expression itself.
        self._parts = {THREAD: IndexPart(THREAD)}
        self._depth = 1
        # The stems of generated names.
        self._names: dict[str, str] = {}

    def add_line(self, text: str) -> None:
        """Add one statement."""
        self.lines.append("  " * self._depth + text)

    def make_name(self, stem: str) -> str:
        """Return an unused name."""
        name = f"{stem}{len(self._names) + 1}"
        self._names[name] = stem
        return name

    def declare(self, type_: str, expression: str, stem: str = "v") -> str:
        """Declare a constant of an MSL type; return its name."""
        name = self.make_name(stem)
        self.add_line(f"const {type_} {name} = {expression};")
        return name

    def declare_variable(self, type_: str, expression: str, stem: str = "r") -> str:
        """Declare a variable of an MSL type; return its name."""
        name = self.make_name(stem)
        self.add_line(f"{type_} {name} = {expression};")
        return name

    def declare_index(self, expression: str) -> str:
        """Return an index: the expression itself if it is one word, else an int that holds it."""
        if expression == THREAD or expression.lstrip("-").isalnum():
            return expression
        for known in reversed(self._known):
            if expression in known:
                return known[expression]
        name = self._known[-1][expression] = self.declare("int", expression, "i")
        return name

    @contextmanager
    def open_block(self, head: str) -> Iterator[None]:
        """Open a block with braces, and a scope for the context's duration."""
        self.add_line(f"{head} {{")
        self._depth += 1
        self._known.append({})
        yield
        self._known.pop()
        self._depth -= 1
        self.add_line("}")

    def emit_value(self, value: TensorValue, index: Sequence[str]) -> str:
        """Return the name of an element; load it or compute it if necessary."""
        if value in self._bound:
            return self._bound[value]
        key = (value, tuple(index))
        for known in reversed(self._known):
            if key in known:
                return known[key]
        operation = value.operation
        splat = find_splat_literal(operation)
        if operation is not None and splat is not None:
            return splat
        if operation is None or value not in self._inlined:
            name = self.declare(value.type.element.msl, self.format_load(value, index))
            self._known[-1][key] = name
            return name
        names = self.emit_operation(operation, tuple(index))
        for result, name in zip(operation.results, names, strict=True):
            self._known[-1][(result, tuple(index))] = name
        return names[value.number]

    def bind_value(self, value: TensorValue, index: Index, name: str) -> None:
        """Bind an element to a name in this scope."""
        self._known[-1][(value, index)] = name

    def emit_root(self, value: TensorValue, index: Index) -> str:
        """Return the name of an element that this kernel computes."""
        operation = value.operation
        if operation is None:
            raise AssertionError(
                f"expected a result of an operation, got an argument of {value.type}"
            )
        key = (value, index)
        if key not in self._known[-1]:
            for result, name in zip(
                operation.results, self.emit_operation(operation, index), strict=True
            ):
                self._known[-1][(result, index)] = name
        return self._known[-1][key]

    def emit_operation(self, operation: Operation, index: Index) -> Sequence[str]:
        """Emit an operation's results at an index.

        Raise AssertionError if the results differ in shape, or the index in rank.
        """
        spaces = {each.type.shape for each in operation.results}
        if len(spaces) != 1 or any(len(shape) != len(index) for shape in spaces):
            raise AssertionError(
                f"{operation.where}: expected results of one shape at an index of their rank, got "
                f"{', '.join(str(each.type) for each in operation.results)} at {index}"
            )
        return self._emitters[operation.name](self, operation, index)

    def bind_buffer(self, value: TensorValue) -> str:
        """Return the parameter of a value's buffer."""
        return self.buffers.setdefault(value, f"in{len(self.buffers)}")

    def format_load(self, value: TensorValue, index: Sequence[str]) -> str:
        """Return the expression that loads an element from its buffer."""
        return f"{self.bind_buffer(value)}[{self.linearize(index, value.type.shape)}]"

    def emit_region(self, block: Block, arguments: Sequence[str]) -> list[str]:
        """Emit a region of scalars; return the names of its results."""
        before = dict(self._bound)
        self._bound.update(zip(block.arguments, arguments, strict=True))
        # Values of a region are never in buffers, at any level.
        for operation in block.operations:
            self._inlined.update(operation.results)
        self._known.append({})
        # Emit in order, not recursively from the results: a chain may exceed Python's stack.
        for operation in block.operations:
            if all(not each.type.shape for each in operation.results):
                self.emit_value(operation.results[0], ())
        returned = [self.emit_value(each, ()) for each in block.returned]
        self._known.pop()
        self._bound = before
        return returned

    def unravel_index(self, linear: str, shape: Sequence[int]) -> Index:
        """Return the index of the element with a row-major number."""
        places, stride = [], 1
        whole = self._parts.get(linear)
        for axis, size in reversed(list(enumerate(shape))):
            outermost = all(each == 1 for each in shape[:axis])
            modulus = None if outermost else size
            part = None if whole is None else whole.select(stride, modulus)
            if size == 1:
                places.append("0")
            elif part is not None:
                places.append(self._declare_part(part))
            else:
                places.append(self.declare_index(IndexPart(linear, stride, modulus).format()))
            stride *= size
        return tuple(reversed(places))

    def linearize(self, index: Sequence[str], shape: Sequence[int]) -> str:
        """Return the row-major number of an element, as an expression.

        Adjacent parts of the thread's number are joined: kernels of tensors that are accessed in
        order have the same text for all shapes.
        """
        terms: list[tuple[str, IndexPart | None, int]] = []
        stride = 1
        for place, size in zip(reversed(index), reversed(shape), strict=True):
            if place != "0" and size != 1:
                part, joined = self._parts.get(place), None
                if terms and part is not None:
                    _, inner, least = terms[-1]
                    if inner is not None and stride == least * (inner.modulus or 0):
                        joined = inner.join(part)
                if joined is None:
                    terms.append((place, part, stride))
                else:
                    terms[-1] = ("", joined, least)
            stride *= size
        places = [(place or self._declare_joined(part), least) for place, part, least in terms]
        texts = [place if least == 1 else f"{place} * {least}" for place, least in places]
        return " + ".join(reversed(texts)) or "0"

    def _declare_part(self, part: IndexPart) -> str:
        """Return the name of a part of the thread's number."""
        if part.is_whole:
            return part.linear
        name = self.declare_index(part.format())
        self._parts[name] = part
        return name

    def _declare_joined(self, part: IndexPart | None) -> str:
        if part is None:
            raise AssertionError("expected a part of the thread's number, got another index")
        return self._declare_part(part)

    def list_lines(self) -> list[str]:
        """Return the lines without unused indices; names are numbered in their order."""
        kept: list[str] = []
        used: set[str] = set()
        for line in reversed(self.lines):
            declared = _INDEX_DECLARATION.match(line)
            if declared is None or declared[1] in used or declared[1] not in self._names:
                kept.append(line)
                used.update(_NAME.findall(line))
        numbers: dict[str, str] = {}

        def rename(found: re.Match[str]) -> str:
            name = found[0]
            if name not in self._names:
                return name
            if name not in numbers:
                numbers[name] = f"{self._names[name]}{len(numbers) + 1}"
            return numbers[name]

        return [_NAME.sub(rename, line) for line in reversed(kept)]


def find_splat_literal(operation: Operation | None) -> str | None:
    """Return the literal of a splat constant, or None for other operations."""
    if operation is None or operation.name != "constant":
        return None
    found = find_splat(operation.attributes["value"])
    return None if found is None else format_literal(found[()], operation.results[0].type.element)


def format_loop(name: str, size: int) -> str:
    """Return the head of a loop over an axis."""
    return f"for (int {name} = 0; {name} < {size}; ++{name})"


def get_msl_type(type_: TensorType) -> str:
    """Return the MSL type of one element."""
    return type_.element.msl
