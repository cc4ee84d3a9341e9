"""Integer constant expressions, as far as reflection needs them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

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
_SEPARATOR = "__in__"  # `::` in what Python can parse


_LARGEST = 2**64


def evaluate(expression: str, names: Mapping[str, str]) -> int | None:
    """The value of a C++ integer expression whose names stand for other expressions, else None.

    A name may be a whole call, such as `is_function_constant_defined(x)`. Truth is 1 or 0.
    """
    return _evaluate(expression, names, _MAX_DEPTH)


def _evaluate(expression: str, names: Mapping[str, str], depth: int) -> int | None:
    if depth == 0:
        return None
    python = _C_CAST.sub("", _CAST.sub("", _SUFFIX.sub(r"\1", expression)))
    python = _SCOPE.sub(_SEPARATOR, _OCTAL.sub("0o", python))
    python = python.replace("/", "//").replace("&&", " and ").replace("||", " or ")
    python = _NOT.sub(" not ", python).strip()
    if not all(map(_NUMBER.fullmatch, re.findall(r"(?<!\w)[0-9][\w.]*", python))):
        return None
    try:
        return _value(ast.parse(python, mode="eval").body, names, depth)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, MemoryError, RecursionError):
        return None


def _value(node: ast.expr, names: Mapping[str, str], depth: int) -> int:
    """Return an expression's value. Raises ValueError for what C++ has no integer type for."""
    value = _exact_value(node, names, depth)
    if not -_LARGEST <= value <= _LARGEST:
        raise ValueError("too large")
    return value


def _exact_value(node: ast.expr, names: Mapping[str, str], depth: int) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.Name):
        value = _named(node.id.split(_SEPARATOR), names, depth)
        if value is not None:
            return value
    if isinstance(node, ast.Call) and ast.unparse(node) in names:
        return _value(ast.parse(names[ast.unparse(node)], mode="eval").body, names, depth - 1)
    return _operation(node, names, depth)


def _named(path: list[str], names: Mapping[str, str], depth: int) -> int | None:
    """The value of a name; of what it is qualified with, as much counts as is known."""
    for first in range(len(path)):
        name = "::".join(path[first:])
        if name in names:
            return _evaluate(names[name], names, depth - 1)
    return None


def _operation(node: ast.expr, names: Mapping[str, str], depth: int) -> int:
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left, names, depth), _value(node.right, names, depth)
        if isinstance(node.op, ast.LShift) and right > 64:
            raise ValueError("shift too far")
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        operand = _value(node.operand, names, depth)
        return -operand if isinstance(node.op, ast.USub) else int(not operand)
    if isinstance(node, ast.BoolOp):
        values = [_value(value, names, depth) for value in node.values]
        return int(all(values) if isinstance(node.op, ast.And) else any(values))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISON:
        right = _value(node.comparators[0], names, depth)
        return int(_COMPARISON[type(node.ops[0])](_value(node.left, names, depth), right))
    raise ValueError("not an integer constant")
