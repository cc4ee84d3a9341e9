"""Evaluate C++ integer constant expressions, as far as reflection needs them."""

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
