"""Trace bodies of problems without values, and run them on arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.errors import DeclarationError
from metalbench.expression import Expression, parse
from metalbench.kernelbench.problems import on_mlx, on_numpy
from metalbench.kernelbench.problems.layers import Costs, Layers
from metalbench.kernelbench.problems.on_torch import TorchOperations
from metalbench.kernelbench.problems.parameters import Initial, TracedOutput, input_of
from metalbench.task import Input, Task, task
from metalbench.task.declaration import Sizes

Body = Callable[..., Any]
# The most bytes of inputs, parameters and outputs together. A larger batch is cut.
MOST_BYTES = 2 << 30


@dataclass(frozen=True)
class Trace:
    """The result of tracing one size: parameters with initialisation, shapes, costs."""

    parameters: Mapping[str, tuple[tuple[int, ...], Initial]]
    outputs: tuple[tuple[int, ...], ...]
    costs: Costs


@dataclass(frozen=True)
class Problem:
    """A body and its inputs; traces of it are kept."""

    name: str
    body: Body
    inputs: Mapping[str, Input]
    sizes: Sizes
    traces: dict[tuple[int, ...], Trace] = field(default_factory=dict)
    known: dict[tuple[tuple[int, ...], ...], dict[str, int]] = field(default_factory=dict)

    def trace(self, values: Mapping[str, int]) -> Trace:
        """Run the body on arrays without values; raises DeclarationError where no shapes fit."""
        sizes = {name: values[name] for name in self.sizes["small"]}
        key = tuple(sizes.values())
        if key not in self.traces:
            try:
                self.traces[key] = self._trace(sizes)
            except (ValueError, IndexError, ZeroDivisionError, OverflowError) as error:
                raise DeclarationError(f"[{self.name}] {sizes}: no shapes fit: {error}") from error
            shapes = (*self._shapes(values), *(s for s, _ in self.traces[key].parameters.values()))
            self.known[shapes] = sizes
        return self.traces[key]

    def _shapes(self, values: Mapping[str, int]) -> list[tuple[int, ...]]:
        return [each.shape_at(values) for each in self.inputs.values()]

    def _trace(self, sizes: Mapping[str, int]) -> Trace:
        found: dict[str, tuple[tuple[int, ...], Initial]] = {}

        def make(name: str, shape: tuple[int, ...], initial: Initial) -> mx.array:
            found[name] = shape, initial
            return mx.zeros(shape)

        with mx.stream(mx.cpu):
            nn = Layers(on_mlx, sizes, make=make)
            shapes = zip(self.inputs.items(), self._shapes(sizes), strict=True)
            results = self.body(nn, **{name: _blank(each, shape) for (name, each), shape in shapes})
        several = results if isinstance(results, tuple) else (results,)
        return Trace(found, tuple(tuple(each.shape) for each in several), nn.costs)

    def run(self, on: ModuleType | TorchOperations, arrays: Mapping[str, Any]) -> Any:
        """Run the body on inputs and parameters of MLX, NumPy or PyTorch."""
        shapes = tuple(tuple(each.shape) for each in arrays.values())
        if shapes not in self.known:
            for extents in self.sizes.values():
                self.trace(extents)
        if shapes not in self.known:
            raise DeclarationError(f"[{self.name}] no size has arrays of the shapes {shapes}")
        inputs = {name: arrays[name] for name in self.inputs}
        return self.body(Layers(on, self.known[shapes], arrays), **inputs)

    def bytes(self, values: Mapping[str, int]) -> int:
        """Return the bytes of inputs, parameters and outputs in float32."""
        trace = self.trace(values)
        shapes = [*self._shapes(values), *(s for s, _ in trace.parameters.values())]
        return sum(4 * int(np.prod(each, dtype=np.int64)) for each in (*shapes, *trace.outputs))


def cut_to_fit(known: Problem, paper: Mapping[str, int], name: str) -> Mapping[str, int]:
    """As much of `name` as keeps all arrays within `MOST_BYTES`, at least one."""
    whole = known.bytes(paper)
    if whole <= MOST_BYTES or name not in paper:
        return paper
    fixed = 2 * known.bytes({**paper, name: paper[name] // 2}) - whole
    share = (MOST_BYTES - fixed) / (whole - fixed) if whole > fixed else 1.0
    return {**paper, name: max(1, int(paper[name] * share))} if share > 0 else paper


def _blank(each: Input, shape: tuple[int, ...]) -> mx.array:
    kind = "float32" if each.dtype is None else each.dtype.name
    return mx.zeros(shape, dtype=getattr(mx, "bool_" if kind == "bool" else kind))


# `@problem`: a task of a body that is written once, for MLX, for NumPy and for a trace.

OUTPUT = "y"


@dataclass(frozen=True)
class _TracedCost(Expression):
    """Steps of a trace, in the place of an expression of sizes."""

    cost: Callable[[Mapping[str, int]], int] = field(default=lambda _: 0)

    def evaluate(self, values: Mapping[str, int]) -> int:
        return self.cost(values)


@dataclass(frozen=True, kw_only=True)
class problem:  # noqa: N801 - a decorator
    """Declare the task whose body is the decorated function `body(nn, inputs...)`.

    `paper` has the extents of the original problem. In the size of that name, the extent `cut` is
    reduced where all arrays together would exceed `MOST_BYTES`. `oracle` is a separate body for
    NumPy. `check` raises ValueError for inputs that the problem excludes. Errors are relative to
    the larger of the output and `magnitude` (for cancellation), times `depth`: the number of layers
    that amplify rounding errors, or a function of the inputs that computes it. `indices`: the
    output is integers. `avoidable`: algebra avoids the products, so that they do not count as
    operations. `divides` gives the divisor of a size: dict(features="groups"), and `at_most` the
    size that another must not exceed: dict(tokens="positions"). `lifted` parameters are larger by
    these values in the seeds after the first. `constants` are additional arguments of a kernel that
    another task shares; the body has them in its text.
    """

    inputs: Mapping[str, Input]
    small: Mapping[str, int]
    odd: Mapping[str, int]
    cpu: Mapping[str, int]
    paper: Mapping[str, int]
    cut: str = "batch"
    oracle: Body | None = None
    check: Callable[..., None] | None = None
    magnitude: float = 0.0
    depth: int | Callable[..., Any] = 1
    outputs: Sequence[str] = (OUTPUT,)
    indices: bool = False
    multiples: Mapping[str, int] | None = None
    divides: Mapping[str, str] | None = None
    at_most: Mapping[str, str] | None = None
    draw: Callable[[np.random.Generator], Mapping[str, int]] | None = None
    lifted: Mapping[str, float] | None = None
    constants: Mapping[str, int | float] | None = None
    avoidable: bool = False

    def __call__(self, body: Body) -> Task:
        """The task of that body; raises DeclarationError where its parts do not fit together."""
        own = {"small": self.small, "odd": self.odd, "cpu": self.cpu, "paper": self.paper}
        whole = Problem(body.__name__, body, self.inputs, own)
        sizes = {**own, "paper": cut_to_fit(whole, self.paper, self.cut)}
        known = replace(whole, sizes=sizes)
        parameters = _inputs_of(known, known.trace(self.small).parameters, self.lifted or {})
        declared = self._declare(known, {**self.inputs, **parameters})
        cost = _TracedCost("0", parse("0").root, cost=_cost_of(known, avoidable=self.avoidable))
        largest = lambda values: known.trace(values).costs.largest  # noqa: E731
        declared = replace(declared, flops_expression=cost, largest=largest)
        PROBLEMS[declared.name] = whole
        return declared

    def _declare(self, known: Problem, asked: Mapping[str, Input]) -> Task:
        """Return the task, but for what it costs."""
        reference, exact, scale, by_torch = self._functions(known, asked)
        sizes = known.sizes
        return task(
            sizes=sizes,
            inputs=asked,
            outputs=_outputs_of(known, self.outputs, indices=self.indices),
            oracle=exact,
            scale=scale if self.magnitude or self.depth != 1 else None,
            constants=self.constants,
            flops="0",
            headline="cpu",
            gpu_headlines=("paper",),
            multiples=self.multiples,
            draw=self.draw or self._drawing(sizes),
            baseline="mlx",
            torch=by_torch,
        )(reference)

    def _drawing(self, sizes: Sizes) -> Callable[[np.random.Generator], Mapping[str, int]] | None:
        """Draw sizes between the least and the one for processors that depend on each other.

        None where none does: tasks draw such sizes themselves.
        """
        divides, at_most = self.divides or {}, self.at_most or {}
        if not divides and not at_most:
            return None

        def draw(random: np.random.Generator) -> Mapping[str, int]:
            drawn = {}
            for name, most in sizes["cpu"].items():
                least = min(extents[name] for extents in sizes.values())
                log = random.uniform(np.log(least), np.log(max(least, most) + 1))
                drawn[name] = min(int(np.exp(log)), max(least, most))
            for name, step in (self.multiples or {}).items():
                drawn[name] = max(1, drawn[name] // step) * step
            for whole, part in divides.items():
                drawn[whole] = max(1, drawn[whole] // drawn[part]) * drawn[part]
            for name, bound in at_most.items():
                drawn[name] = min(drawn[name], drawn[bound])
            return drawn

        return draw

    def _functions(
        self, known: Problem, asked: Mapping[str, Input]
    ) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """Reference, oracle, scale and PyTorch's form, with the arguments of the task."""
        plain = known if self.oracle is None else replace(known, body=self.oracle)

        def reference(*arrays: Any, **by_name: Any) -> Any:
            return known.run(on_mlx, _bind(asked, arrays, by_name))

        def exact(*arrays: Any, **by_name: Any) -> Any:
            given = _bind(asked, arrays, by_name)
            if self.check is not None:
                self.check(**{name: given[name] for name in self.inputs})
            return plain.run(on_numpy, given)

        def scale(*arrays: Any, **by_name: Any) -> Any:
            depth = self.depth
            if callable(depth):
                given = _bind(asked, arrays, by_name)
                depth = depth(**{name: given[name] for name in self.inputs})
            return depth * np.maximum(np.abs(exact(*arrays, **by_name)), self.magnitude)

        def by_torch(torch: Any, *arrays: Any) -> Any:
            device = arrays[0].device
            return known.run(TorchOperations(torch, device), _bind(asked, arrays, {}))

        names = [*asked, *(self.constants or {})]
        for each in (reference, exact, scale):
            each.__signature__ = _signature(names)  # type: ignore[attr-defined]
        by_torch.__signature__ = _signature(["torch", *names])  # type: ignore[attr-defined]
        reference.__name__, reference.__doc__ = known.body.__name__, _description(known.body)
        return reference, exact, scale, by_torch


# By name: those declared so far, with the problem's own extents.
PROBLEMS: dict[str, Problem] = {}


def _inputs_of(
    known: Problem, names: Iterable[str], lifted: Mapping[str, float]
) -> dict[str, Input]:
    def at(name: str) -> Callable[[Mapping[str, int]], tuple[tuple[int, ...], Initial]]:
        return lambda values: known.trace(values).parameters[name]

    found: dict[str, Input] = {}
    for name in names:
        found[name] = input_of(at(name), lifted.get(name, 0.0))
    return found


def _outputs_of(known: Problem, names: Sequence[str], *, indices: bool) -> dict[str, TracedOutput]:
    from metalbench.task.dtypes import dtype

    def shape_of(index: int) -> Callable[[Mapping[str, int]], tuple[int, ...]]:
        return lambda values: known.trace(values).outputs[index]

    kind = dtype("uint32") if indices else None
    return {name: TracedOutput((), kind, shape_of(i)) for i, name in enumerate(names)}


def _cost_of(known: Problem, *, avoidable: bool) -> Callable[[Mapping[str, int]], int]:
    def cost(values: Mapping[str, int]) -> int:
        costs = known.trace(values).costs
        return costs.elements + (0 if avoidable else costs.products)

    return cost


def _signature(names: Sequence[str]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def _bind(
    names: Iterable[str], arrays: Sequence[Any], by_name: Mapping[str, Any]
) -> dict[str, Any]:
    given = {**dict(zip(names, arrays, strict=False)), **by_name}
    return {name: given[name] for name in names}


def _description(body: Body) -> str:
    text = body.__doc__ or getattr(body, "__globals__", {}).get("__doc__") or ""
    return str(text).strip().partition("\n")[0]
