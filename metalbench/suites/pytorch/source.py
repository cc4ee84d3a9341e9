"""A Python file in KernelBench's format, executed with the numbers that one of its sizes has."""

from __future__ import annotations

import ast
import copy
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from metalbench.errors import DeclarationError, TaskError

PARTS = ("Model", "get_inputs", "get_init_inputs")
# What makes a problem another one rather than a smaller one.
FIXED = re.compile(r"kernel|stride|pad|dilat|group|layer|head|window|pool|reduc|axis|patch|seed")
LEAST_EXTENT = 8


@dataclass(frozen=True)
class Source:
    """The file at `path`. It is the user's own Python, and runs as such."""

    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file; raise TaskError if it cannot be read or parsed."""
        try:
            tree = ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))
        except SyntaxError as error:
            raise self.fault(f"line {error.lineno}: SyntaxError: {error.msg}") from error
        except (OSError, ValueError) as error:
            raise self.fault(f"cannot be read: {error}") from error
        for each in tree.body:
            if isinstance(each, ast.Assign):
                each.value = _Folded().visit(each.value)
        tree.body = [part for each in tree.body for part in _one_by_one(each)]
        return tree

    @cached_property
    def extents(self) -> dict[str, int]:
        """The numbers that can be other ones: of the file's constants and of its shapes.

        A constant is `name = 128` at the top; numbers in tuples and lists there, and in
        `get_inputs` and `get_init_inputs`, are called `n128`.
        """
        return {
            name: value
            for name, value in self.numbers.items()
            if not FIXED.search(name.lower())
            and (value >= LEAST_EXTENT or ("batch" in name.lower() and value > 1))
        }

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The names of the arguments of every `forward`, also in lower case as in a trace."""
        parts = (
            each
            for each in ast.walk(self.tree)
            if isinstance(each, ast.FunctionDef) and each.name == "forward"
        )
        names = [each.arg for part in parts for each in part.args.args]
        return frozenset([*names, *map(str.lower, names)])

    @property
    def numbers(self) -> dict[str, int]:
        """All numbers that `module_at` takes, also those that make another problem."""
        constants = {name: each.value for name, each in self._constants(self.tree).items()}
        literals = {f"n{each.value}": each.value for each in self._literals(self.tree)}
        return {**constants, **literals}

    def module_at(self, values: Mapping[str, int]) -> ModuleType:
        """Return the file executed with `values` for its numbers.

        Raise TaskError for whatever it raises, and where `Model`, `get_inputs` or
        `get_init_inputs` is missing.
        """
        tree = copy.deepcopy(self.tree)
        for name, node in self._constants(tree).items():
            node.value = values.get(name, node.value)
        for node in self._literals(tree):
            node.value = values.get(f"n{node.value}", node.value)
        module = ModuleType(f"metalbench_modules.{self.path.stem}")
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        self.call_user_code(
            "the file", lambda: exec(compile(tree, str(self.path), "exec"), module.__dict__)
        )
        for part in PARTS:
            if not callable(getattr(module, part, None)):
                kind = "class" if part == "Model" else "function"
                raise self.fault(
                    f"expected a {kind} {part!r}, as KernelBench's files have, got none"
                )
        return module

    def call_user_code(self, what: str, act: Callable[[], Any]) -> Any:
        """Return `act()`; its errors become a TaskError with `what` and the line."""
        try:
            return act()
        except DeclarationError:
            raise
        except (Exception, SystemExit) as error:  # the user's code: it may raise anything
            lines = traceback.extract_tb(error.__traceback__)
            own = [each.lineno for each in lines if each.filename == str(self.path)]
            where = f"line {own[-1]}: " if own else ""
            first = str(error).strip().partition("\n")[0]
            raise self.fault(f"{what}: {where}{type(error).__name__}: {first}") from error

    def fault(self, message: str) -> TaskError:
        """Return an error about this file."""
        return TaskError(f"[import-torch] {self.path}: {message}")

    def _constants(self, tree: ast.Module) -> dict[str, Any]:
        """Nodes of numbers by name; of a name that an array has, too, with `_size` behind it."""
        found: dict[str, Any] = {}
        for each in tree.body:
            if isinstance(each, ast.Assign) and len(each.targets) == 1:
                target, value = each.targets[0], each.value
                if isinstance(target, ast.Name) and _is_extent(value):
                    taken = target.id in self.arrays
                    found[f"{target.id}_size" if taken else target.id] = value
        return found

    @staticmethod
    def _literals(tree: ast.Module) -> list[Any]:
        parts: list[ast.AST] = []
        for one in tree.body:
            if isinstance(one, ast.FunctionDef) and one.name in PARTS:
                parts.append(one)
            elif isinstance(one, ast.Assign) and isinstance(one.value, (ast.Tuple, ast.List)):
                parts.append(one.value)
        return [each for one in parts for each in ast.walk(one) if _is_extent(each)]


class _Folded(ast.NodeTransformer):
    """A number for a product of numbers: of `2048 * 2`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Mult) and _is_extent(left) and _is_extent(right):
            return ast.copy_location(ast.Constant(left.value * right.value), node)
        return node


def _one_by_one(statement: ast.stmt) -> list[ast.stmt]:
    """`height = 128` and `width = 128` for `height = width = 128`: they may be other numbers."""
    if not (isinstance(statement, ast.Assign) and _is_extent(statement.value)):
        return [statement]
    return [
        ast.copy_location(ast.Assign([target], copy.copy(statement.value)), statement)
        for target in statement.targets
    ]


def _is_extent(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
