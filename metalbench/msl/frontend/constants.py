"""Evaluate C++ integer constant expressions, as far as reflection needs them.

Parser, evaluator and limits are those of `metalbench.expression`. The grammar differs from that of
kernel headers, because it is C++'s: precedence, division toward zero, literals, casts and scopes.
Types of operands are not modelled: arithmetic is exact, and a result of more than 64 bits is not a
constant.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from metalbench._core import CompileError
from metalbench.errors import DeclarationError
from metalbench.expression import Expression, Grammar, Node, Parser
from metalbench.msl.frontend.declarations import (
    Attribute,
    Declaration,
    find_attributes,
    skip_attributes,
)
from metalbench.msl.frontend.tokens import Location, Tokens, is_name

_INTEGER_BITS = {
    "char": 8,
    "short": 16,
    "int": 32,
    "long": 64,
    "int8_t": 8,
    "int16_t": 16,
    "int32_t": 32,
    "int64_t": 64,
}
_INTEGER_RANGES = {
    name: (-(2 ** (bits - 1)), 2 ** (bits - 1)) for name, bits in _INTEGER_BITS.items()
}
_INTEGER_RANGES |= {f"u{name}": (0, 2**bits) for name, bits in _INTEGER_BITS.items()} | {
    "size_t": (0, 2**64)
}
_LITERAL = re.compile(
    r"(?:0[xX](?P<hex>[0-9a-fA-F']+)|0[bB](?P<binary>[01']+)|0(?P<octal>[0-7']*)"
    r"|(?P<decimal>[1-9][0-9']*))[uUlL]*"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_MAX_DEPTH = 32


def _divide_toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift_left(a: int, b: int) -> int:
    if not 0 <= b <= 64:
        raise OverflowError
    return a << b


def _shift_right(a: int, b: int) -> int:
    if not 0 <= b <= 64:
        raise OverflowError
    return a >> b


def _convert(low: int, high: int, a: int, _: int) -> int:
    """Return `a` modulo 2^bits, as a conversion to the integer type of [low, high) does."""
    return low + (a - low) % (high - low)


# Precedence as in C++ ([expr] of the standard).
CONSTANT_EXPRESSIONS = Grammar(
    operators={
        "||": (1, lambda a, b: int(a != 0 or b != 0)),
        "&&": (2, lambda a, b: int(a != 0 and b != 0)),
        "|": (3, operator.or_),
        "^": (4, operator.xor),
        "&": (5, operator.and_),
        "==": (6, operator.eq),
        "!=": (6, operator.ne),
        "<": (7, operator.lt),
        "<=": (7, operator.le),
        ">": (7, operator.gt),
        ">=": (7, operator.ge),
        "<<": (8, _shift_left),
        ">>": (8, _shift_right),
        "+": (9, operator.add),
        "-": (9, operator.sub),
        "*": (10, operator.mul),
        "/": (10, _divide_toward_zero),
        "%": (10, lambda a, b: a - b * _divide_toward_zero(a, b)),
    },
    prefixes={"-": "-", "+": "+", "!": "=="},
    functions={
        "bool": operator.ne,
        **{name: partial(_convert, *limits) for name, limits in _INTEGER_RANGES.items()},
    },
    largest=2**64 - 1,
)


class _ConstantExpression(Expression):
    grammar = CONSTANT_EXPRESSIONS


class _ConstantParser(Parser):
    """Read C++ constant expressions: casts, qualified names and calls with the name of a constant.

    A conversion is a function whose second operand is 0. A call is one name: `f(x)`.
    """

    result = _ConstantExpression

    def literal(self, text: str) -> int | None:
        match = _LITERAL.fullmatch(text)
        if match is None or match.lastgroup is None:
            return None
        return int(match[match.lastgroup].replace("'", "") or "0", _BASES[match.lastgroup])

    def atom(self) -> Node:
        if self.peek() == "(" and self.peek(1) in self.grammar.functions and self.peek(2) == ")":
            self.expect("(")
            kind = self.name()
            self.expect(")")
            return Node(kind, operands=(self.factor(), Node()))
        if self.peek() != "::" and not is_name(self.peek()):
            return super().atom()
        name = self._read_qualified_name()
        is_cast = name == "static_cast"
        if is_cast:
            self.expect("<")
            name = self._read_qualified_name()
            self.expect(">")
        elif self.peek() != "(":
            return Node(name)
        self.expect("(")
        operand = self.operation()
        self.expect(")", "an operator or ')'")
        kind = name.rpartition("::")[2]
        if kind in self.grammar.functions:
            return Node(kind, operands=(operand, Node()))
        if is_cast:
            return operand
        if operand.operands or not operand.name:
            raise self.error("a conversion or a call with a name")
        return Node(f"{name}({operand.name.rpartition('::')[2]})")

    def _read_qualified_name(self) -> str:
        self.accept("::")
        path = [self.name("a number, a name or '('")]
        while self.accept("::"):
            path.append(self.name())
        return "::".join(path)


def evaluate_expression(expression: str, names: Mapping[str, str]) -> int | None:
    """Return the value of a C++ integer expression, None if it is not an integer constant.

    `names` maps identifiers to their initialisers. A key may be a whole call, such as
    `is_function_constant_defined(x)`. Boolean results are 1 or 0.
    """
    try:
        return _Constants(names).evaluate(expression, _MAX_DEPTH)
    except DeclarationError:
        return None


class _Constants:
    """Constants with their initialisers. Each is evaluated at most once."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._values: dict[str, int] = {}

    def evaluate(self, text: str, depth: int) -> int:
        """Return the value. Raise DeclarationError if it has none; names nest `depth` levels."""
        expression = _ConstantParser(text).whole_expression()
        return expression.evaluate({each: self._find(each, depth) for each in expression.names})

    def _find(self, path: str, depth: int) -> int:
        """Return the value of a qualified name, by its longest suffix that is known."""
        name = path
        while name not in self._names and "::" in name:
            name = name.partition("::")[2]
        if name not in self._names or depth == 0:
            raise DeclarationError(f"{path}: expected an integer constant")
        if name not in self._values:
            self._values[name] = self.evaluate(self._names[name], depth - 1)
        return self._values[name]


# Find the function constants of a source, and program-scope constants for constant expressions.

Scalar = bool | int | float
Value = Scalar | Sequence[Scalar]
_VECTOR = re.compile(r"(bool|u?char|u?short|u?int|u?long|half|bfloat|float)([234])")
_STORAGE_WORDS = frozenset({"constant", "const", "static", "constexpr"})


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
