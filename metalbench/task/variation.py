"""Changes to drawn inputs that find mistakes which one plain distribution hides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench.task import drawing

Values = np.ndarray[Any, Any]
# Of a sparse input: the share of elements that are not zero.
_KEPT = 0.1
# How many places in a thousand hold a special value.
_SPECIAL = 10


@dataclass(frozen=True)
class Variation:
    """One change: from drawn values, float32, and a generator to values of the same shape."""

    name: str
    change: Callable[[Values, np.random.Generator], Values]


def shifted(by: float) -> Variation:
    """Everything moved by a constant: shows cancellation, and sums that should be centred."""
    return Variation(f"shifted by {by:g}", lambda values, _: values + np.float32(by))


def scaled(by: float) -> Variation:
    """Everything times a constant: shows overflow."""
    return Variation(f"scaled by {by:g}", lambda values, _: values * np.float32(by))


def heavy_tailed() -> Variation:
    """Return the cubes: mostly small, a few very large."""
    return Variation("cubed", lambda values, _: values * values * values)


def even() -> Variation:
    """Spread evenly, with the mean and the deviation of what was drawn."""

    def change(values: Values, random: np.random.Generator) -> Values:
        flat = random.random(values.shape, dtype=np.float32) * 2 - 1
        wide: Values = values.mean() + np.sqrt(np.float32(3)) * values.std() * flat
        return wide.astype(np.float32)

    return Variation("spread evenly", change)


def coarse() -> Variation:
    """Rounded to a dozen different values: shows how ties are broken, and exact zeros."""

    def change(values: Values, _: np.random.Generator) -> Values:
        step = np.float32(drawing.estimate_deviation(values) / 2) or np.float32(1)

        def round_to_steps(part: Values) -> None:
            part /= step
            np.rint(part, out=part)
            part *= step

        return drawing.change_in_blocks(values.copy(), round_to_steps)

    return Variation("rounded to few values", change)


def without_ties() -> Variation:
    """Drawn anew, every value by itself over [0, 1): where values were equal, now few are."""

    def change(values: Values, random: np.random.Generator) -> Values:
        return np.asarray(random.random(values.shape, dtype=np.float32))

    return Variation("without ties", change)


def sparse() -> Variation:
    """Nine in ten are zero: shows divisions by what may vanish."""

    def change(values: Values, random: np.random.Generator) -> Values:
        kept = random.random(values.shape, dtype=np.float32) < _KEPT
        return np.where(kept, values, np.float32(0))

    return Variation("nine in ten zero", change)


def with_special(*special: float) -> Variation:
    """`special` values (infinities, NaN, -0.0) in one of a hundred places."""
    names = ", ".join(f"{each:g}" for each in special)

    def change(values: Values, random: np.random.Generator) -> Values:
        places = random.integers(1000, size=values.shape) < _SPECIAL
        chosen = random.choice(np.array(special, np.float32), size=values.shape)
        return np.where(places, chosen, values)

    return Variation(f"with {names}", change)


# The first two show most, and are those that few seeds still bring.
STANDARD = (shifted(100), heavy_tailed(), even(), coarse(), sparse())
