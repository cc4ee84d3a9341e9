"""Caches that are filled in part: rows behind what is filled are NaN, and nobody's to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from metalbench.task.expression import Expression, parse
from metalbench.task.inputs import Input, normal
from metalbench.task.variation import Variation

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Cache(Input):
    """Rows along the last axis but one, of which the first `filled` are there."""

    filled: Expression

    def draw_array(
        self, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> Array:
        """Return the array for `values` of the sizes, float32."""
        rows = super().draw_array(random, values, seed).copy()
        rows[..., self.filled.evaluate(values) :, :] = np.nan
        return rows


def cache(*dims: str | int, filled: str, variations: tuple[Variation, ...] | None = None) -> Cache:
    """A cache of shape `dims`, of which `filled` rows are there: normal, with these variations."""
    plain = normal(*dims)
    if variations is not None:
        plain = plain.only(*variations)
    same = {each.name: getattr(plain, each.name) for each in fields(Input)}
    return Cache(**same, filled=parse(filled))
