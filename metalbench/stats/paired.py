"""Pairs of times, with the order in the pair and the levels of looks taken out of their ratios."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.blocks import FEWEST_BLOCKS
from metalbench.stats.clock import clock_grain
from metalbench.stats.crosscheck import CrossCheck, check_of, cross_check
from metalbench.stats.drift import Drift, find_drift, trend_of
from metalbench.stats.levels import Levels, find_levels
from metalbench.stats.location import Blocks, Ranks, locate
from metalbench.stats.modes import Mode, find_modes
from metalbench.stats.order import Order, find_order
from metalbench.stats.ratio import log_ratios


@dataclass(frozen=True)
class Paired:
    """Times as if nobody were second in a pair, and what of that is known.

    `logarithms` are those of the ratios; `order` and `levels` are None where they are not
    significant. Pairs of looks with levels are not independent: of these the looks' medians are the
    values that everything rests on.
    """

    reference: NDArray[np.float64]
    candidate: NDArray[np.float64]
    logarithms: NDArray[np.float64]
    grains: tuple[float, float]
    order: Order | None
    levels: Levels | None

    @classmethod
    def of(
        cls,
        reference: NDArray[np.float64],
        candidate: NDArray[np.float64],
        candidate_first: NDArray[np.bool_] | None = None,
        look: NDArray[np.int_] | None = None,
    ) -> Paired:
        """Take out what is significant; nothing is where `candidate_first` or `look` is unknown."""
        logarithms = log_ratios(reference, candidate)
        grains = clock_grain(reference), clock_grain(candidate)
        order = None if candidate_first is None else find_order(logarithms, candidate_first)
        if candidate_first is not None and order is not None and order.significant:
            less = np.exp(-order.second)
            reference = np.where(candidate_first, less * reference, reference)
            candidate = np.where(candidate_first, candidate, less * candidate)
            logarithms = order.removed(logarithms, candidate_first)
        else:
            order = None
        levels = None if look is None else find_levels(logarithms, look)
        significant = levels is not None and levels.significant
        return cls(reference, candidate, logarithms, grains, order, levels if significant else None)

    @cached_property
    def location(self) -> Ranks | Blocks:
        """Where the ratio's median lies."""
        beyond = 0.5 * sum(self.grains) + (self.order.uncertainty if self.order else 0.0)
        if self.levels is None:
            return locate(self.logarithms, beyond)
        medians = self.levels.medians
        return Blocks(medians, beyond, float(np.median(medians)), looks=True)

    def drift(self) -> Drift | None:
        """Trend of the ratio."""
        if self.levels is None:
            return find_drift(self.logarithms)
        medians, count = self.levels.medians, self.logarithms.size
        if medians.size < FEWEST_BLOCKS:
            return None
        return trend_of(medians, count / medians.size, count)

    def cross_check(self) -> CrossCheck | None:
        """Other methods' opinion of the ratio."""
        if self.levels is None:
            return cross_check(self.logarithms)
        medians = self.levels.medians
        return check_of(medians) if medians.size >= FEWEST_BLOCKS else None

    def modes(self) -> tuple[Mode, ...]:
        """Modes of the ratio; where both times have as many, those of one to those of the other.

        A machine that changes between two clocks within pairs gives their ratio a third value and a
        fourth, although at either clock there is but one.
        """
        if self.levels is not None:
            return find_modes(self.levels.removed(self.logarithms), sum(self.grains))
        parts = find_modes(self.logarithms, sum(self.grains))
        if len(parts) == 1:
            return parts
        theirs, ours = (
            find_modes(np.log(times), grain)
            for times, grain in zip((self.reference, self.candidate), self.grains, strict=True)
        )
        if len(theirs) != len(ours) or len(ours) == 1:
            return parts
        return tuple(
            Mode(one.value - other.value, min(one.share, other.share))
            for one, other in zip(theirs, ours, strict=True)
        )
