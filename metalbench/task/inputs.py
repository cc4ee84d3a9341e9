"""Inputs and outputs of tasks: shape, element type and distribution."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metalbench.expression import Expression, parse
from metalbench.process import usable_cores
from metalbench.task.dtypes import DType, dtype

# Draw random arrays. Large arrays are drawn in blocks by several threads.
#
# Every block has a separate generator, spawned from the generator of the array. The numbers depend
# neither on the machine nor on the number of threads.

Values = np.ndarray[Any, Any]
Fill = Callable[[np.random.Generator, Values], object]

BLOCK = 1 << 22


def draw_standard_normal(random: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Return an array, float32, from the standard normal distribution."""
    if math.prod(shape) <= BLOCK:
        return np.asarray(random.standard_normal(shape, dtype=np.float32))
    return _fill_blocks(
        random, shape, lambda own, out: own.standard_normal(dtype=np.float32, out=out)
    )


def draw_uniform(random: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Return an array, float32, spread evenly over [0, 1)."""
    if math.prod(shape) <= BLOCK:
        return np.asarray(random.random(shape, dtype=np.float32))
    return _fill_blocks(random, shape, lambda own, out: own.random(dtype=np.float32, out=out))


def change_in_blocks(values: Values, change: Callable[[Values], object]) -> Values:
    """Return the values, each changed by itself where it is, by a function of a part of them."""
    flat = values.reshape(-1)
    if flat.size <= BLOCK:
        change(flat)
    else:
        _run_in_threads(change, _blocks(flat))
    return flat.reshape(values.shape)


def estimate_deviation(values: Values) -> np.floating[Any]:
    """Return the standard deviation; of a large array only that of its first block."""
    return np.float32(values.reshape(-1)[:BLOCK].std())


def _fill_blocks(random: np.random.Generator, shape: tuple[int, ...], fill: Fill) -> Values:
    values = np.empty(shape, np.float32)
    blocks = _blocks(values.reshape(-1))
    _run_in_threads(fill, random.spawn(len(blocks)), blocks)
    return values


def _blocks(flat: Values) -> list[Values]:
    return [flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK)]


def _run_in_threads(work: Callable[..., object], *arguments: Sequence[Any]) -> None:
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="draw") as threads:
        # What they return is waited for, so that what is raised there is raised here.
        list(threads.map(work, *arguments))


# Variations of random inputs. They find errors that one plain distribution hides.

# The fraction of elements of a sparse input that are not zero.
_KEPT = 0.1
# The number of special values in a thousand elements.
_SPECIAL = 10


@dataclass(frozen=True)
class Variation:
    """A function of float32 values and a generator, which returns values of the same shape."""

    name: str
    change: Callable[[Values, np.random.Generator], Values]


def shifted(by: float) -> Variation:
    """Add a constant to all values: finds cancellation."""
    return Variation(f"shifted by {by:g}", lambda values, _: values + np.float32(by))


def scaled(by: float) -> Variation:
    """Multiply all values by a constant: finds overflow."""
    return Variation(f"scaled by {by:g}", lambda values, _: values * np.float32(by))


def heavy_tailed() -> Variation:
    """Return the cubes: mostly small, a few very large."""
    return Variation("cubed", lambda values, _: values * values * values)


def even() -> Variation:
    """Replace values by uniform ones with the same mean and deviation."""

    def change(values: Values, random: np.random.Generator) -> Values:
        flat = random.random(values.shape, dtype=np.float32) * 2 - 1
        wide: Values = values.mean() + np.sqrt(np.float32(3)) * values.std() * flat
        return wide.astype(np.float32)

    return Variation("spread evenly", change)


def coarse() -> Variation:
    """Round to a dozen different values: finds wrong handling of ties and exact zeros."""

    def change(values: Values, _: np.random.Generator) -> Values:
        step = np.float32(estimate_deviation(values) / 2) or np.float32(1)

        def round_to_steps(part: Values) -> None:
            part /= step
            np.rint(part, out=part)
            part *= step

        return change_in_blocks(values.copy(), round_to_steps)

    return Variation("rounded to few values", change)


def without_ties() -> Variation:
    """Replace values by independent uniform ones over [0, 1), which have few ties."""

    def change(values: Values, random: np.random.Generator) -> Values:
        return np.asarray(random.random(values.shape, dtype=np.float32))

    return Variation("without ties", change)


def sparse() -> Variation:
    """Set nine of ten values to zero: finds divisions by zero."""

    def change(values: Values, random: np.random.Generator) -> Values:
        kept = random.random(values.shape, dtype=np.float32) < _KEPT
        return np.where(kept, values, np.float32(0))

    return Variation("nine in ten zero", change)


def with_special(*special: float) -> Variation:
    """Put `special` values (infinities, NaN, -0.0) into one of a hundred places."""
    names = ", ".join(f"{each:g}" for each in special)

    def change(values: Values, random: np.random.Generator) -> Values:
        places = random.integers(1000, size=values.shape) < _SPECIAL
        chosen = random.choice(np.array(special, np.float32), size=values.shape)
        return np.where(places, chosen, values)

    return Variation(f"with {names}", change)


# The first two find most errors: runs with few seeds use only them.
STANDARD = (shifted(100), heavy_tailed(), even(), coarse(), sparse())


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
    elements with those of another workload, and to enlarge single elements. The elements of an
    `exchangeable` input are independent and of one distribution, so that they may be in any order,
    and be there several times. `compute` returns the array from inputs that are declared earlier,
    its parameters.
    """

    distribution: str
    draw: Draw
    variations: tuple[Variation, ...] = ()
    stream: str = field(default="", kw_only=True)
    together: bool = field(default=False, kw_only=True)
    exchangeable: bool = field(default=False, kw_only=True)
    compute: Callable[..., Values] | None = field(default=None, kw_only=True)

    def also(self, *variations: Variation) -> Input:
        """Return this input with additional variations, for the seeds after the existing ones."""
        return replace(self, variations=(*self.variations, *variations))

    def in_type(self, name: str) -> Input:
        """Return this input with elements of one type in all runs, such as scales in float32."""
        return replace(self, dtype=_named(name))

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
        change_in_blocks(values, lambda part: np.multiply(part, by, out=part))
    if plus:
        change_in_blocks(values, lambda part: np.add(part, plus, out=part))
    return values


def normal(*dims: str | int, mean: float = 0.0, deviation: float = 1.0) -> Input:
    """Return floats from the normal distribution, with the standard variations."""

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = draw_standard_normal(random, shape)
        return _scale_and_shift(values, np.float32(deviation), np.float32(mean))

    name = f"normal({mean:g}, {deviation:g})"
    return Input(_shape(dims), None, name, draw, STANDARD, exchangeable=True)


def tied(*dims: str | int) -> Input:
    """Return floats over [0, 1) with ties: the second half of every row repeats the first half.

    The first variation has no ties. It finds kernels that read only one half.
    """

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = draw_uniform(random, shape)
        half = shape[-1] // 2
        values[..., shape[-1] - half :] = values[..., :half]
        return values

    return Input(_shape(dims), None, "uniform(0, 1), every value twice", draw, (without_ties(),))


def uniform(*dims: str | int, low: float = 0.0, high: float = 1.0) -> Input:
    """Return floats spread evenly over [low, high)."""

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = draw_uniform(random, shape)
        return _scale_and_shift(values, np.float32(high - low), np.float32(low))

    return Input(_shape(dims), None, f"uniform({low:g}, {high:g})", draw, exchangeable=True)


def positive(*dims: str | int) -> Input:
    """Return floats above zero over four decades: the exponential of a normal variable."""

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        values = draw_standard_normal(random, shape)
        return change_in_blocks(values, lambda part: np.exp(part, out=part))

    return Input(_shape(dims), None, "lognormal(0, 1)", draw, exchangeable=True)


def integers(*dims: str | int, low: str | int = 0, high: str | int, dtype: str = "uint32") -> Input:
    """Return whole numbers spread evenly over [low, high); both may be expressions of the sizes."""
    first, last = parse(low), parse(high)
    kind = _named(dtype)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        bounds = first.evaluate(values), last.evaluate(values)
        return random.integers(*bounds, size=shape, dtype=np.int64).astype(kind.numpy)

    return Input(_shape(dims), kind, f"integers({first}, {last})", draw, exchangeable=True)


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


def derive(*dims: str | int, by: Callable[..., Values], dtype: str | None = None) -> Input:
    """Return an input that the function `by` computes from other inputs, such as a forward result.

    The parameters of `by` are names of inputs that the task declares earlier, which it gets as they
    are stored, floats in float64. The array does not follow later changes of single elements.
    """
    kind = _named(dtype) if dtype else None
    plain = normal(*dims)
    name = f"derived from {', '.join(inspect.signature(by).parameters)}"
    return Input(plain.shape, kind, name, plain.draw, together=True, compute=by)


_named = dtype


def output(*dims: str | int, dtype: str | None = None) -> Array:
    """Return an output; without `dtype` its elements have the type of the run."""
    return Array(_shape(dims), _named(dtype) if dtype else None)
