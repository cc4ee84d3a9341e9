"""Declare inputs and parameters of problems, and the geometry of convolution windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metalbench.task import inputs
from metalbench.task.inputs import Array, Draw, Input, Variation, coarse


@dataclass(frozen=True)
class WindowGeometry:
    """One number for each axis of pixels; `output_padding` is that of transposed convolutions."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    output_padding: tuple[int, ...] = ()


# Learned parameters as inputs: drawn as PyTorch initialises them, and then so that they matter.
#
# Seed 0 gives the original inputs of the problem. Many problems hardly depend on them (a
# contracting network returns its biases, the weights of a norm are all one). Other seeds give
# inputs of both signs and parameters with a wider spread, so that only the full computation is
# correct.

Values = np.ndarray[Any, Any]
ShapeOf = Callable[[Mapping[str, int]], tuple[int, ...]]

WIDE = "of wider spread"


@dataclass(frozen=True)
class Initial:
    """The initialisation of a parameter: `draw` as in PyTorch, `wide` for other seeds."""

    text: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], Values]
    wide: Callable[[np.random.Generator, tuple[int, ...]], Values]


# Shape and beginning of a parameter at a size.
KnownAt = Callable[[Mapping[str, int]], tuple[tuple[int, ...], Initial]]


@dataclass(frozen=True)
class ParameterInput(Input):
    """An input whose shape and beginning, of every size another, come of a trace of the body."""

    known: KnownAt = field(default=lambda _: ((), constant(0)))
    lift: float = 0.0

    def shape_at(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with `values` for the names of sizes."""
        return self.known(values)[0]

    def draw_array(
        self, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> Values:
        """Return values as PyTorch initialises them, or with a wider spread, by `seed`."""
        shape, initial = self.known(values)
        if self.variation(seed) is None:
            return self.draw(random, shape, values)
        return _float(initial.wide(random, shape) + self.lift)


@dataclass(frozen=True)
class TracedOutput(Array):
    """An output whose shape comes of a trace of the problem's body."""

    shape_of: ShapeOf

    def shape_at(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with `values` for the names of sizes."""
        return self.shape_of(values)


def within(bound: float) -> Initial:
    """Evenly over +-`bound`; wide: normal, so that variances grow by a gain rather than shrink."""
    return Initial(
        f"uniform(-{bound:.3g}, {bound:.3g})",
        lambda random, shape: _float(random.uniform(-bound, bound, shape)),
        lambda random, shape: _float(random.normal(0, np.sqrt(2) * bound, shape)),
    )


def even(fan_in: int) -> Initial:
    """Return PyTorch's initialisation of a layer with `fan_in` inputs."""
    return within(1 / float(np.sqrt(fan_in)))


def bias_within(bound: float) -> Initial:
    """Evenly over +-`bound`; wide: normal with deviation 0.3."""
    return replace(within(bound), wide=lambda random, shape: _float(random.normal(0, 0.3, shape)))


def constant(value: float) -> Initial:
    """Return all equal; wide: evenly over half to one and a half of it, about 0 where it is 0."""
    return Initial(
        f"{value:g}",
        lambda _, shape: np.full(shape, value, np.float32),
        lambda random, shape: _float(
            value * random.uniform(0.5, 1.5, shape) if value else random.normal(0, 0.3, shape)
        ),
    )


def randn(deviation: float = 1.0, mean: float = 0.0) -> Initial:
    """From the normal distribution, in all seeds."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Values:
        return _float(random.normal(mean, deviation, shape))

    return Initial(f"normal({mean:g}, {deviation:g})", draw, draw)


def input_of(known: KnownAt, lift: float = 0.0) -> ParameterInput:
    """Return the input that stands for a parameter, `lift` larger where it is wide."""
    varied = Variation(WIDE, lambda values, _: values)  # drawn anew instead

    def draw(random: np.random.Generator, shape: tuple[int, ...], at: Mapping[str, int]) -> Values:
        return known(at)[1].draw(random, shape)

    return ParameterInput((), None, "as PyTorch", draw, (varied, varied), known=known, lift=lift)


def rand(*dims: str | int, like: Callable[[Values], Values] | None = None) -> Input:
    """Return numbers of PyTorch's rand, over [0, 1); then normal ones, and few values with ties.

    `like` gives what is drawn a form that the problem promises: symmetric, triangular.
    """
    from metalbench.task.inputs import uniform

    plain = uniform(*dims)
    formed = like or _as_it_is
    rounded = coarse()

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Values:
        return formed(plain.draw(random, shape, values))

    def standard(values: Values, random: np.random.Generator) -> Values:
        return formed(inputs.draw_standard_normal(random, values.shape))

    def ties(values: Values, random: np.random.Generator) -> Values:
        return formed(rounded.change(inputs.draw_standard_normal(random, values.shape), random))

    return replace(
        plain,
        draw=draw,
        variations=(Variation("normal", standard), Variation("normal, few values", ties)),
    )


def drawn(
    *dims: str | int,
    text: str,
    draw: Callable[[np.random.Generator, tuple[int, ...]], Values],
    wide: Callable[[np.random.Generator, tuple[int, ...]], Values] | None = None,
) -> Input:
    """Return an input of the distribution `draw`; `wide` is for seeds after the first."""
    from metalbench.task.inputs import uniform

    def plain(random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]) -> Values:
        return _float(draw(random, shape))

    def change(values: Values, random: np.random.Generator) -> Values:
        return _float((wide or draw)(random, values.shape))

    varied = Variation(WIDE, change)
    taken: Draw = plain
    return replace(uniform(*dims), distribution=text, draw=taken, variations=(varied, varied))


def _float(values: Any) -> Values:
    return np.asarray(values, dtype=np.float32)


def _as_it_is(values: Values) -> Values:
    return values
