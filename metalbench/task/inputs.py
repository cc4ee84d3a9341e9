"""Inputs and outputs of tasks: shape, element type and distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metalbench.task import drawing
from metalbench.task.dtypes import DType, dtype
from metalbench.task.expression import Expression, parse
from metalbench.task.variation import STANDARD, Variation, without_ties

Draw = Callable[[np.random.Generator, tuple[int, ...], Mapping[str, int]], np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Array:
    """An input or output: its shape in terms of the task's sizes.

    `dtype` is None where it follows the run (float32, float16 or bfloat16). Texels of a texture
    have a `pixel_format`, such as rgba8unorm.
    """

    shape: tuple[Expression, ...]
    dtype: DType | None
    pixel_format: str = field(default="", kw_only=True)

    def shape_at(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with `values` for the names of sizes and integer constants."""
        return tuple(each.evaluate(values) for each in self.shape)

    def type_in(self, run: DType) -> DType:
        """Return the element type when the run's is `run`."""
        return self.dtype or run


@dataclass(frozen=True)
class Input(Array):
    """An input and its distribution. Seed 0 is plain, every further seed has one variation.

    Inputs with the same non-empty `stream` use the same random numbers. `together` forbids to mix
    elements with those of another workload, and to enlarge single elements.
    """

    distribution: str
    draw: Draw
    variations: tuple[Variation, ...] = ()
    stream: str = field(default="", kw_only=True)
    together: bool = field(default=False, kw_only=True)

    def also(self, *variations: Variation) -> Input:
        """Return this input with additional variations, for the seeds after the existing ones."""
        return replace(self, variations=(*self.variations, *variations))

    def only(self, *variations: Variation) -> Input:
        """Return this input with only these variations, for seeds 1, 2, ...; then plain again."""
        return replace(self, variations=variations)

    def variation(self, seed: int) -> Variation | None:
        """Return the variation that `seed` brings, if any."""
        turn = seed % (len(self.variations) + 1)
        return self.variations[turn - 1] if turn else None

    def draw_array(
        self, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> np.ndarray[Any, Any]:
        """Return the array for `values` of the sizes, float32 or integer."""
        plain = self.draw(random, self.shape_at(values), values)
        variation = self.variation(seed)
        return variation.change(plain, random) if variation else plain


def _shape(dims: tuple[str | int, ...]) -> tuple[Expression, ...]:
    return tuple(parse(each) for each in dims)


def _scale_and_shift(
    values: np.ndarray[Any, Any], by: np.float32, plus: np.float32
) -> np.ndarray[Any, Any]:
    """Return the values times a number and plus another, where they are."""
    if by != 1:
        drawing.change_in_blocks(values, lambda part: np.multiply(part, by, out=part))
    if plus:
        drawing.change_in_blocks(values, lambda part: np.add(part, plus, out=part))
    return values


def normal(*dims: str | int, mean: float = 0.0, deviation: float = 1.0) -> Input:
    """Return floats from the normal distribution, with the standard variations."""

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = drawing.draw_standard_normal(random, shape)
        return _scale_and_shift(values, np.float32(deviation), np.float32(mean))

    return Input(_shape(dims), None, f"normal({mean:g}, {deviation:g})", draw, STANDARD)


def tied(*dims: str | int) -> Input:
    """Return floats over [0, 1) with ties: the second half of every row repeats the first half.

    The first variation has no ties. It finds kernels that read only one half.
    """

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = drawing.draw_uniform(random, shape)
        half = shape[-1] // 2
        values[..., shape[-1] - half :] = values[..., :half]
        return values

    return Input(_shape(dims), None, "uniform(0, 1), every value twice", draw, (without_ties(),))


def uniform(*dims: str | int, low: float = 0.0, high: float = 1.0) -> Input:
    """Return floats spread evenly over [low, high)."""

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = drawing.draw_uniform(random, shape)
        return _scale_and_shift(values, np.float32(high - low), np.float32(low))

    return Input(_shape(dims), None, f"uniform({low:g}, {high:g})", draw)


def positive(*dims: str | int) -> Input:
    """Return floats above zero over four decades: the exponential of a normal variable."""

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = drawing.draw_standard_normal(random, shape)
        return drawing.change_in_blocks(values, lambda part: np.exp(part, out=part))

    return Input(_shape(dims), None, "lognormal(0, 1)", draw)


def integers(*dims: str | int, low: str | int = 0, high: str | int, dtype: str = "uint32") -> Input:
    """Return whole numbers spread evenly over [low, high); both may be expressions of the sizes."""
    first, last = parse(low), parse(high)
    kind = _named(dtype)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        bounds = first.evaluate(values), last.evaluate(values)
        return random.integers(*bounds, size=shape, dtype=np.int64).astype(kind.numpy)

    return Input(_shape(dims), kind, f"integers({first}, {last})", draw)


def distinct(*dims: str | int, below: str | int) -> Input:
    """Return distinct integers below an expression of the sizes, in random order."""
    bound = parse(below)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        count = int(np.prod(shape))
        return random.permutation(bound.evaluate(values))[:count].astype(np.uint32).reshape(shape)

    kind = _named("uint32")
    return Input(_shape(dims), kind, f"distinct below {bound}", draw, together=True)


_named = dtype


def output(*dims: str | int, dtype: str | None = None) -> Array:
    """Return an output; without `dtype` its elements have the type of the run."""
    return Array(_shape(dims), _named(dtype) if dtype else None)
