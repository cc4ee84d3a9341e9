"""Execute a Python file in KernelBench's format with the constants of one size."""

from __future__ import annotations

import ast
import copy
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, TaskError
from metalbench.reference.torch_form import import_torch_for

PARTS = ("Model", "get_inputs", "get_init_inputs")
# Constants that change the problem itself, not only its size.
FIXED = re.compile(r"kernel|stride|pad|dilat|group|layer|head|window|pool|reduc|axis|patch|seed")
LEAST_EXTENT = 8


@dataclass(frozen=True)
class ModuleSource:
    """The file at `path`. It is the user's own Python, and runs as such.

    `command` is what errors name as the reader of the file.
    """

    path: Path
    command: str = "import-torch"

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
        return TaskError(f"[{self.command}] {self.path}: {message}")

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


# A module at its sizes: inputs, parameters, what it costs, and what it computes in float64.

Values = np.ndarray[Any, Any]
Sizes = Mapping[str, Mapping[str, int]]
# PyTorch's device without memory.
META = "meta"


@dataclass
class Drawn:
    """The numbers of a file at one size, by the module's names: NumPy arrays and constants."""

    arguments: list[Any]
    parameters: dict[str, Values]
    buffers: dict[str, Values]


@dataclass
class TorchModule:
    """The `Model` of a file, with a cache for the last size."""

    source: ModuleSource
    _drawn: dict[tuple[Any, ...], Drawn] = field(default_factory=dict)
    _exact: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> TorchModule:
        """Return the file at `path`; nothing is executed yet."""
        return cls(ModuleSource(path))

    def build(self, values: Mapping[str, int], device: str = "cpu", double: bool = False) -> Any:
        """(module, arguments) with `values`, on "meta" without any memory; seed 0.

        A constructor that asks for values has memory meanwhile.
        """
        try:
            return self._build(values, device, double)
        except DeclarationError as error:
            if device != META or "meta tensors" not in str(error):
                raise
        torch = import_torch_for("import-torch")
        model, arguments = self._build(values, "cpu", double)
        moved = [each.to(META) if isinstance(each, torch.Tensor) else each for each in arguments]
        return model.to(META), moved

    def _build(self, values: Mapping[str, int], device: str, double: bool) -> Any:
        torch = import_torch_for("import-torch")
        source, before = self.source, torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if double else torch.float32)
        try:
            with warnings.catch_warnings(), torch.device(device):
                warnings.simplefilter("ignore")
                torch.manual_seed(0)
                file = source.module_at(values)
                initial = source.call_user_code("get_init_inputs", file.get_init_inputs)
                model = source.call_user_code("Model", lambda: make_model(file.Model, initial))
                if not isinstance(model, torch.nn.Module):
                    raise source.fault(f"Model: expected a torch.nn.Module, got {type(model)}")
                arguments = source.call_user_code("get_inputs", file.get_inputs)
        finally:
            torch.set_default_dtype(before)
        if not isinstance(arguments, (list, tuple)) or not arguments:
            raise source.fault(f"get_inputs: expected a list of tensors, got {type(arguments)}")
        if not any(isinstance(each, torch.Tensor) for each in arguments):
            raise source.fault("get_inputs: expected at least one tensor, got none")
        return model, list(arguments)

    def draw(self, values: Mapping[str, int], seed: int = 0) -> Drawn:
        """Return arguments and parameters as the file draws them."""
        torch = import_torch_for("import-torch")
        key = (*values.values(), seed)
        if key not in self._drawn:
            model, arguments = self.build(values)
            if seed:
                torch.manual_seed(seed)
                file = self.source.module_at(values)
                arguments = self.source.call_user_code("get_inputs", file.get_inputs)
            self._drawn.clear()
            self._drawn[key] = Drawn(
                [_array(each) if isinstance(each, torch.Tensor) else each for each in arguments],
                {name: _array(each) for name, each in model.named_parameters()},
                {name: _array(each) for name, each in model.named_buffers()},
            )
        return self._drawn[key]

    def exact(
        self,
        values: Mapping[str, int],
        inputs: Sequence[Values],
        state: Mapping[str, Values],
        *,
        seed: int = 0,
    ) -> tuple[Values, ...]:
        """Return the outputs in float64 of tensors and learned parameters that are given.

        `seed` is of what the module draws, which no task may depend on.
        """
        torch = import_torch_for("import-torch")
        key = tuple(values.values())
        if key not in self._exact:
            model, arguments = self.build(values, double=True)
            self._exact.clear()
            self._exact[key] = model.double(), arguments
        model, arguments = self._exact[key]
        tensors = iter(inputs)
        with torch.no_grad():
            asked = [
                _like(torch, next(tensors), each) if isinstance(each, torch.Tensor) else each
                for each in arguments
            ]
            own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
            held = {name: each.clone() for name, each in own.items()}
            held |= {name: _like(torch, each, own[name]) for name, each in state.items()}
            torch.manual_seed(seed)
            got = self.source.call_user_code(
                "forward", lambda: torch.func.functional_call(model, held, tuple(asked))
            )
        return tuple(_array(each, wide=True) for each in several(got))


def several(result: Any) -> tuple[Any, ...]:
    """Return the tensors of a result, those of tuples and lists within it one after the other."""
    if isinstance(result, (tuple, list)):
        return tuple(one for each in result for one in several(each))
    return (result,)


def make_model(model: Any, initial: Any) -> Any:
    """Return a `Model` made with what `get_init_inputs` returned, in one of KernelBench's forms."""
    if isinstance(initial, dict):
        return model(**initial)
    if len(initial) == 2 and isinstance(initial[0], list) and isinstance(initial[1], dict):
        return model(*initial[0], **initial[1])
    return model(*initial)


def _array(tensor: Any, wide: bool = False) -> Values:
    """Return a copy; int64 as int32, float64 as float32 unless `wide`, scalars as one element."""
    values = np.array(tensor.detach().cpu().numpy())
    if values.dtype == np.int64:
        values = values.astype(np.int32)
    elif values.dtype.kind == "f" and not wide:
        values = values.astype(np.float32)
    return values.reshape(1) if values.ndim == 0 else values


def _like(torch: Any, values: Values, other: Any) -> Any:
    """A tensor of `values` with the shape of `other`, in its type of whole numbers or float64."""
    floating = other.dtype.is_floating_point
    kind = torch.float64 if floating else other.dtype
    return torch.from_numpy(np.array(values)).to(kind).reshape(other.shape)
