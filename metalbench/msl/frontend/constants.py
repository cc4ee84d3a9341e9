"""Evaluate C++ integer constant expressions, as far as reflection needs them."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from metalbench._core import CompileError
from metalbench.msl.frontend.declarations import (
    Attribute,
    Declaration,
    find_attributes,
    skip_attributes,
)
from metalbench.msl.frontend.tokens import Location, Tokens

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARISON: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_CAST = re.compile(r"\b(?:static_cast\s*<\s*\w+\s*>|u?int|uint32_t|size_t|u?short)\s*(?=\()")
_C_CAST = re.compile(r"\(\s*(?:u?int|uint32_t|size_t|u?short)\s*\)\s*(?=[\w(])")
_SCOPE = re.compile(r"\s*::\s*")
_OCTAL = re.compile(r"(?<![\w.])0(?=\d)")
_NOT = re.compile(r"!(?!=)")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0o[0-7]*|[0-9]+")
_MAX_DEPTH = 32
_MAX_CHARACTERS = 10_000
# A constant that names the previous constant twice doubles the steps of the evaluation each time.
_MAX_STEPS = 10_000
_MAX_VALUE = 2**64
_SEPARATOR = "__in__"  # stands for `::` in the Python expression


def evaluate_expression(expression: str, names: Mapping[str, str]) -> int | None:
    """Return the value of a C++ integer expression, None if it is not an integer constant.

    `names` maps identifiers to their initialisers. A key may be a whole call, such as
    `is_function_constant_defined(x)`. Boolean results are 1 or 0.
    """
    return _Evaluation(names).evaluate(expression, _MAX_DEPTH)


class _Evaluation:
    """One evaluation, with limits on its steps and on the size of its numbers."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._steps = 0

    def evaluate(self, expression: str, depth: int) -> int | None:
        """Return the value of an expression or None; names nest at most `depth` levels."""
        if depth == 0 or len(expression) > _MAX_CHARACTERS:
            return None
        python = _C_CAST.sub("", _CAST.sub("", _SUFFIX.sub(r"\1", expression)))
        python = _SCOPE.sub(_SEPARATOR, _OCTAL.sub("0o", python))
        python = python.replace("/", "//").replace("&&", " and ").replace("||", " or ")
        python = _NOT.sub(" not ", python).strip()
        if not all(map(_NUMBER.fullmatch, re.findall(r"(?<!\w)[0-9][\w.]*", python))):
            return None
        try:
            return self._evaluate_node(ast.parse(python, mode="eval").body, depth)
        except (SyntaxError, ValueError, ArithmeticError, MemoryError, RecursionError):
            return None

    def _evaluate_node(self, node: ast.expr, depth: int) -> int:
        """Return the value of a syntax node. Raise ValueError or OverflowError if it has none."""
        self._steps += 1
        if self._steps > _MAX_STEPS or depth == 0:
            raise ValueError("too long an expression")
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            if node.value > _MAX_VALUE:
                raise OverflowError("a number of more than 64 bits")
            return int(node.value)
        if isinstance(node, ast.Name):
            value = self._resolve_name(node.id.split(_SEPARATOR), depth)
            if value is not None:
                return value
        if isinstance(node, ast.Call) and ast.unparse(node) in self._names:
            return self._evaluate_node(
                ast.parse(self._names[ast.unparse(node)], mode="eval").body, depth - 1
            )
        result = self._evaluate_operation(node, depth)
        if abs(result) > _MAX_VALUE:
            raise OverflowError("a number of more than 64 bits")
        return result

    def _resolve_name(self, path: list[str], depth: int) -> int | None:
        """Return the value of a qualified name, by its longest suffix that is known, or None."""
        for first in range(len(path)):
            name = "::".join(path[first:])
            if name in self._names:
                return self.evaluate(self._names[name], depth - 1)
        return None

    def _evaluate_operation(self, node: ast.expr, depth: int) -> int:
        """Return the value of an operator node. Raise ValueError for other nodes."""
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            left, right = (
                self._evaluate_node(node.left, depth),
                self._evaluate_node(node.right, depth),
            )
            if isinstance(node.op, (ast.LShift, ast.RShift)) and not 0 <= right <= 64:
                raise ValueError("shift too far")
            return _BINARY[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            operand = self._evaluate_node(node.operand, depth)
            return -operand if isinstance(node.op, ast.USub) else int(not operand)
        if isinstance(node, ast.BoolOp):
            values = [self._evaluate_node(value, depth) for value in node.values]
            return int(all(values) if isinstance(node.op, ast.And) else any(values))
        if (
            isinstance(node, ast.Compare)
            and len(node.ops) == 1
            and type(node.ops[0]) in _COMPARISON
        ):
            right = self._evaluate_node(node.comparators[0], depth)
            return int(_COMPARISON[type(node.ops[0])](self._evaluate_node(node.left, depth), right))
        raise ValueError("not an integer constant")


# Find the function constants of a source, and program-scope constants for constant expressions.

Scalar = bool | int | float
Value = Scalar | Sequence[Scalar]
_VECTOR = re.compile(r"(bool|u?char|u?short|u?int|u?long|half|bfloat|float)([234])")
_STORAGE_WORDS = frozenset({"constant", "const", "static", "constexpr"})
_INTEGER_BITS = {
    "char": 8,
    "short": 16,
    "int": 32,
    "long": 64,
    "int8_t": 8,
    "int16_t": 16,
    "int32_t": 32,
}
_INTEGER_BITS |= {"int64_t": 64}
_INTEGER_RANGES = {
    name: (-(2 ** (bits - 1)), 2 ** (bits - 1)) for name, bits in _INTEGER_BITS.items()
}
_INTEGER_RANGES |= {f"u{name}": (0, 2**bits) for name, bits in _INTEGER_BITS.items()} | {
    "size_t": (0, 2**64)
}


@dataclass(frozen=True)
class FunctionConstant:
    """The declaration `constant T name [[function_constant(index)]];`.

    See the Metal Shading Language Specification, section on function constants.
    """

    name: str
    index: int
    type: str
    declaration: Declaration
    location: Location
    is_optional: bool


def find_function_constants(
    tokens: Tokens, declared: Iterable[Declaration]
) -> list[FunctionConstant]:
    """Return the function constants in source order. Raise CompileError for an unknown index.

    A constant is optional if the source calls `is_function_constant_defined(name)`.
    """
    if "function_constant" not in tokens.occurrences:
        return []
    places = tokens.occurrences.get("is_function_constant_defined", ())
    asked = {tokens.text[index + 2] for index in places if index + 2 < len(tokens)}
    listed = list(declared)
    names = read_program_constants(tokens, listed)
    found = []
    for declaration in listed:
        if declaration.kind == "variable" and declaration.find_attribute("function_constant"):
            for name_index, kind, attribute in _find_constant_declarators(tokens, declaration):
                where = tokens.locate_token(name_index)
                given = tokens.join(attribute.first, attribute.last)
                index = evaluate_expression(given, names)
                if index is None:
                    raise CompileError(
                        f"{where}: error: function_constant: expected an integer, got {given}"
                    )
                name = tokens.text[name_index]
                optional = name in asked
                found.append(FunctionConstant(name, index, kind, declaration, where, optional))
    return found


def _find_constant_declarators(
    tokens: Tokens, declaration: Declaration
) -> Iterator[tuple[int, str, Attribute]]:
    """Yield name, type and attribute of each of `constant bool a [[...]], b [[...]];`."""
    kind = ""
    for first, last in tokens.split(declaration.head, declaration.last - 1):
        kept = skip_attributes(tokens, first, last)
        attribute = next(
            (a for a in find_attributes(tokens, first, last) if a.name == "function_constant"), None
        )
        words = [tokens.text[index] for index in kept[:-1]]
        kind = "".join(word for word in words if word not in _STORAGE_WORDS) or kind
        if attribute is not None and not kept:
            raise CompileError(
                f"{tokens.locate_token(first)}: error: function_constant: "
                "expected a type and a name before it"
            )
        if attribute is not None:
            yield kept[-1], kind.removeprefix("metal::"), attribute


def read_program_constants(tokens: Tokens, declared: Iterable[Declaration]) -> dict[str, str]:
    """Return the initialisers of constants and enumerators by name: `constant int n = 4;` is n: 4.

    Enumerators are listed by their name and by `enumeration::name`.
    """
    found: dict[str, str] = {}
    for declaration in declared:
        if declaration.kind == "record" and declaration.body and _is_enum(tokens, declaration):
            for name, value in _find_enumerator_values(tokens, declaration.body):
                found.setdefault(name, value)
                found[f"{declaration.name}::{name}"] = value
        if declaration.kind == "variable" and not declaration.template:
            equals = declaration.name_index + 1
            if tokens.text[equals : equals + 1] == ["="]:
                found[declaration.name] = tokens.join(equals + 1, declaration.last - 1)
    return found


def _is_enum(tokens: Tokens, declaration: Declaration) -> bool:
    assert declaration.body is not None
    return "enum" in tokens.text[declaration.head : declaration.body[0]]


def _find_enumerator_values(tokens: Tokens, body: tuple[int, int]) -> Iterator[tuple[str, str]]:
    """Yield names and value expressions of enumerators, `previous + 1` without `=`."""
    last, offset = "0", 0
    for first, end in tokens.split(body[0] + 1, body[1]):
        if first == end:
            continue
        if tokens.text[first + 1 : first + 2] == ["="]:
            last, offset = f"({tokens.join(first + 2, end)})", 0
        yield tokens.text[first], f"{last} + {offset}"
        offset += 1


def resolve_constants(
    constants: Iterable[FunctionConstant], given: Mapping[str | int, Value], function: str
) -> dict[str, Value]:
    """Return values by name, from values by name or index.

    Raise CompileError for a name or index that the source does not declare.
    """
    listed = list(constants)
    by_key: dict[str | int, FunctionConstant] = {found.index: found for found in listed}
    by_key.update({found.name: found for found in listed})
    values: dict[str, Value] = {}
    for key, value in given.items():
        if key not in by_key:
            known = ", ".join(f"{found.name} ({found.index})" for found in listed)
            raise CompileError(
                f"[{function}] constants: no function constant is called {key!r}; "
                f"expected {known or 'none, the source declares no function constants'}"
            )
        values[by_key[key].name] = value
    return values


def format_literal(constant: FunctionConstant, value: Value, function: str) -> str:
    """Return a function constant's value as a C++ expression.

    Raise CompileError if the value does not fit the declared type.
    """
    wanted = f"[{function}] constant {constant.name}: expected {constant.type}, got {value!r}"
    vector = _VECTOR.fullmatch(constant.type)
    if isinstance(value, Sequence):
        if vector is None or len(value) != int(vector[2]):
            raise CompileError(f"{wanted}; give as many numbers as it has components")
        element = replace(constant, type=vector[1])
        parts = ", ".join(format_literal(element, component, function) for component in value)
        return f"metal::{constant.type}({parts})"
    if vector is not None:
        raise CompileError(f"{wanted}; give a sequence of {vector[2]} numbers")
    if constant.type == "bool":
        if value not in (0, 1):
            raise CompileError(f"{wanted}; give True or False")
        return "true" if value else "false"
    if constant.type in _INTEGER_RANGES:
        low, high = _INTEGER_RANGES[constant.type]
        if value != int(value) or not low <= value < high:
            raise CompileError(f"{wanted}; give an integer from {low} to {high - 1}")
        suffix = "ull" if value >= 0 else "ll"
        text = (
            f"({int(value)}{suffix})" if int(value) != -(2**63) else "(-9223372036854775807ll - 1)"
        )
        return f"static_cast<{constant.type}>{text}"
    return f"static_cast<{constant.type}>({_format_float(float(value))})"


def _format_float(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "__builtin_inf()" if value > 0 else "-__builtin_inf()"
    return repr(value)
