"""Inputs for partly filled caches. The rows after the filled ones are NaN and must not be read."""

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
    """A cache with rows along the second last axis. The first `filled` rows hold values."""

    filled: Expression

    def draw_array(
        self, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> Array:
        """Return the array for `values` of the sizes, float32."""
        rows = super().draw_array(random, values, seed).copy()
        rows[..., self.filled.evaluate(values) :, :] = np.nan
        return rows


def cache(*dims: str | int, filled: str, variations: tuple[Variation, ...] | None = None) -> Cache:
    """Return a cache of shape `dims` with `filled` rows of normal numbers and these variations."""
    plain = normal(*dims)
    if variations is not None:
        plain = plain.only(*variations)
    same = {each.name: getattr(plain, each.name) for each in fields(Input)}
    return Cache(**same, filled=parse(filled))
