"""`@imported`: the task of a PyTorch module, as `metalbench import-torch` writes it down."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.expression import Expression, parse
from metalbench.kernelbench.problems import on_mlx
from metalbench.kernelbench.pytorch.importing import DEPTH
from metalbench.kernelbench.pytorch.inputs import DrawnInput, ModulePart, OnPyTorch
from metalbench.kernelbench.pytorch.module import TorchModule
from metalbench.kernelbench.pytorch.operations import Operations
from metalbench.task import Task, task
from metalbench.task.dtypes import dtype as named
from metalbench.task.inputs import Array

Dim = int | str | tuple[int, ...]
Sizes = Mapping[str, Mapping[str, int]]


def given(*dims: Dim, dtype: str = "float32", varied: bool = True) -> ModulePart:
    """An argument of `forward`, drawn by the file's `get_inputs`, then normal where `varied`."""
    return ModulePart(
        "argument", dims, dtype, varied
    )  # called by its place, which `imported` knows


def parameter(name: str, *dims: Dim) -> ModulePart:
    """Return the learned parameter that the module calls `name`, as PyTorch initialises it."""
    return ModulePart("parameter", dims, "float32", True, name)


def buffer(name: str, *dims: Dim, dtype: str = "float32") -> ModulePart:
    """Return a buffer of the module, which is not learned and is equal for all seeds."""
    return ModulePart("buffer", dims, dtype, False, name)


@dataclass(frozen=True)
class _BySize(Expression):
    """A number for each size, where no expression gives it, or the arithmetic of one."""

    sizes: Sizes = field(default_factory=dict)
    numbers: tuple[int, ...] = ()

    def evaluate(self, values: Mapping[str, int]) -> int:
        return self.numbers[_place(self.sizes, values)]


@dataclass(frozen=True)
class Imported:
    """The declaration from a module's file and its trace. Call it with a body to make the task."""

    name: str
    module: TorchModule
    sizes: Sizes
    inputs: Mapping[str, ModulePart]
    outputs: Mapping[str, Array]
    flops: tuple[int, ...]
    depth: int
    magnitude: float = 0.0

    def __call__(self, body: Callable[..., Any] | None) -> Task:
        """The task whose MLX reference is `body`; of None, PyTorch is the reference as well."""
        on_torch = OnPyTorch(self.name, self.module, self.inputs, self._extents_of)

        def reference(*arrays: Any, **by_name: Any) -> Any:
            given = self._bind(arrays, by_name)
            if body is None:
                return on_torch.to_mlx(given)
            values = self._extents_of(given)
            nn = Operations(on_mlx, dict(values), _place(self.sizes, values))
            return _flat(body(nn, **given), list(self.outputs))

        def oracle(*arrays: Any, **by_name: Any) -> Any:
            given = self._bind(arrays, by_name)
            return on_torch.exact(given)

        def scale(*arrays: Any, **by_name: Any) -> Any:
            several = oracle(*arrays, **by_name)
            several = several if isinstance(several, tuple) else (several,)
            found = tuple(self.depth * np.maximum(np.abs(each), self.magnitude) for each in several)
            return found if len(found) > 1 else found[0]

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(each, kind) for each in self.inputs])
        for each in (reference, oracle, scale):
            each.__signature__ = signature  # type: ignore[attr-defined]
        reference.__name__, reference.__doc__ = self.name, self.module.source.path.name
        text = sys.modules.get(getattr(body, "__module__", ""), None)
        reference.__doc__ = (getattr(text, "__doc__", "") or reference.__doc__ or "").strip()
        return self._task(reference, oracle, scale, on_torch, by_mlx=body is not None)

    def _task(
        self,
        reference: Callable[..., Any],
        oracle: Callable[..., Any],
        scale: Callable[..., Any],
        on_torch: OnPyTorch,
        *,
        by_mlx: bool,
    ) -> Task:
        asked = {
            name: DrawnInput.of(name, part, self._shape(part.dims), self.module)
            for name, part in self.inputs.items()
        }
        floats = [each.dtype is None or each.dtype.is_float for each in self.outputs.values()]
        declared = task(
            sizes=self.sizes,
            inputs=asked,
            outputs=self.outputs,
            oracle=oracle,
            scale=scale if all(floats) else None,
            flops="0",
            headline="cpu",
            gpu_headlines=("paper",),
            draw=self._draw,
            baseline="mlx" if by_mlx else "pytorch, by way of mlx's arrays",
            apart=on_torch,
            against=("eager", "compiled", "apart") if by_mlx else ("eager", "apart"),
        )(reference)
        flops = _BySize("0", parse("0").root, sizes=self.sizes, numbers=self.flops)
        return replace(declared, flops_expression=flops)

    def _draw(self, random: np.random.Generator) -> Mapping[str, int]:
        """Return one of the sizes that the graph is known of, and that is for checks."""
        return dict(self.sizes[("small", "odd")[int(random.integers(2))]])

    def _shape(self, dims: tuple[Dim, ...]) -> tuple[Expression, ...]:
        return tuple(_expression(each, self.sizes) for each in dims)

    def _bind(self, arrays: tuple[Any, ...], by_name: Mapping[str, Any]) -> dict[str, Any]:
        found = {**dict(zip(self.inputs, arrays, strict=False)), **by_name}
        return {name: found[name] for name in self.inputs}

    def _extents_of(self, arrays: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the size whose shapes these arrays have."""
        got = {name: tuple(each.shape) for name, each in arrays.items()}
        for values in self.sizes.values():
            shapes = {
                name: tuple(each.evaluate(values) for each in self._shape(part.dims))
                for name, part in self.inputs.items()
            }
            if shapes == got:
                return values
        raise DeclarationError(f"[{self.name}] no size has arrays of the shapes {got}")


def imported(
    name: str,
    file: str,
    *,
    sizes: Sizes,
    inputs: Mapping[str, ModulePart],
    outputs: Mapping[str, tuple[Any, ...]],
    flops: tuple[int, ...],
    depth: int = DEPTH,
    magnitude: float = 0.0,
) -> Imported:
    """Return the task `name` of the `Model` in `file`, in the folder of the task file.

    Arrays are laid out as PyTorch has them, and called as in the module, with `_` for `.`. A number
    of a shape is an expression of the sizes, or a tuple with one for each size; the outputs' begin
    with their element type. `flops` are of the sizes in order. Errors may be relative to `depth`
    times the result, or where that cancels out to `depth` times the `magnitude`. The result
    decorates a body `body(nn, inputs...)` over `metalbench.kernelbench.pytorch.operations`, or is
    called with None.
    """
    where = inspect.stack()[1].filename
    places = iter(range(len(inputs)))
    inputs = {
        each: replace(part, called=str(next(places))) if part.kind == "argument" else part
        for each, part in inputs.items()
    }
    found = {
        each: Array(
            tuple(_expression(dim, sizes) for dim in dims[1:]),
            None if dims[0] == "float32" else named(dims[0]),
        )
        for each, dims in outputs.items()
    }
    module = TorchModule.of(Path(where).parent / file)
    return Imported(name, module, sizes, inputs, found, flops, depth, magnitude)


def _expression(dim: Dim, sizes: Sizes) -> Expression:
    if isinstance(dim, tuple):
        return _BySize(str(dim), parse("0").root, sizes=sizes, numbers=dim)
    return parse(dim)


def _place(sizes: Sizes, values: Mapping[str, int]) -> int:
    """Return the index of the size with these extents; raise DeclarationError if unknown."""
    names = next(iter(sizes.values()))
    own = {name: values[name] for name in names}
    for place, each in enumerate(sizes.values()):
        if own == dict(each):
            return place
    raise DeclarationError(
        f"the size {own} is none that the module was imported at; expected one of "
        f"{', '.join(sizes)}"
    )


def _flat(result: Any, names: list[str]) -> Any:
    several = result if isinstance(result, tuple) else (result,)
    shaped = tuple(each.reshape(1) if each.ndim == 0 else each for each in several)
    return shaped if len(names) > 1 else shaped[0]
