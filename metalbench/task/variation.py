"""Variations of random inputs. They find errors that one plain distribution hides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench.task import drawing

Values = np.ndarray[Any, Any]
# The fraction of elements of a sparse input that are not zero.
_KEPT = 0.1
# How many places in a thousand hold a special value.
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
        step = np.float32(drawing.estimate_deviation(values) / 2) or np.float32(1)

        def round_to_steps(part: Values) -> None:
            part /= step
            np.rint(part, out=part)
            part *= step

        return drawing.change_in_blocks(values.copy(), round_to_steps)

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
