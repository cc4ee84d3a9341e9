"""Pairs of times, corrected for the order effect and for different levels of batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.blocks import FEWEST_BLOCKS
from metalbench.stats.clock import clock_resolution
from metalbench.stats.crosscheck import CrossCheck, cross_check, cross_check_blocks
from metalbench.stats.drift import Drift, estimate_trend, find_drift
from metalbench.stats.levels import BatchLevels, find_batch_levels
from metalbench.stats.location import BlockLocation, RankLocation, locate
from metalbench.stats.modes import DistributionMode, find_modes
from metalbench.stats.order import OrderEffect, find_order_effect
from metalbench.stats.ratio import log_ratios


@dataclass(frozen=True)
class PairedTimes:
    """Times without the order effect, with the significant effects that were found.

    `logarithms` are those of the ratios. `order` and `levels` are None if they are not significant.
    Pairs of batches with different levels are not independent: then the medians of the batches are
    the values of all further analysis. `resolutions` are those of both clocks, relative.
    """

    reference: NDArray[np.float64]
    candidate: NDArray[np.float64]
    logarithms: NDArray[np.float64]
    resolutions: tuple[float, float]
    order: OrderEffect | None
    levels: BatchLevels | None

    @classmethod
    def of(
        cls,
        reference: NDArray[np.float64],
        candidate: NDArray[np.float64],
        candidate_first: NDArray[np.bool_] | None = None,
        batch: NDArray[np.int_] | None = None,
    ) -> PairedTimes:
        """Remove significant effects; `candidate_first` or `batch` None skips the effect."""
        logarithms = log_ratios(reference, candidate)
        resolutions = clock_resolution(reference), clock_resolution(candidate)
        order = None if candidate_first is None else find_order_effect(logarithms, candidate_first)
        if candidate_first is not None and order is not None and order.is_significant:
            less = np.exp(-order.second)
            reference = np.where(candidate_first, less * reference, reference)
            candidate = np.where(candidate_first, candidate, less * candidate)
            logarithms = order.remove(logarithms, candidate_first)
        else:
            order = None
        levels = None if batch is None else find_batch_levels(logarithms, batch)
        significant = levels is not None and levels.is_significant
        return cls(
            reference, candidate, logarithms, resolutions, order, levels if significant else None
        )

    @cached_property
    def location(self) -> RankLocation | BlockLocation:
        """The estimate of the ratio's median."""
        beyond = 0.5 * sum(self.resolutions) + (self.order.uncertainty if self.order else 0.0)
        if self.levels is None:
            return locate(self.logarithms, beyond)
        medians = self.levels.medians
        return BlockLocation(medians, beyond, float(np.median(medians)), by_batch=True)

    def drift(self) -> Drift | None:
        """Return the trend of the ratio."""
        if self.levels is None:
            return find_drift(self.logarithms)
        medians, count = self.levels.medians, self.logarithms.size
        if medians.size < FEWEST_BLOCKS:
            return None
        return estimate_trend(medians, count / medians.size, count)

    def cross_check(self) -> CrossCheck | None:
        """Return the ratio by other methods; None for too few blocks."""
        if self.levels is None:
            return cross_check(self.logarithms)
        medians = self.levels.medians
        return cross_check_blocks(medians) if medians.size >= FEWEST_BLOCKS else None

    def modes(self) -> tuple[DistributionMode, ...]:
        """Return the modes of the ratio.

        If both times have the same number of modes, the modes of the one are paired with those of
        the other. A machine that changes between two clock rates within pairs gives the ratio a
        third and a fourth value, although at each clock rate there is only one.
        """
        if self.levels is not None:
            return find_modes(self.levels.remove(self.logarithms), sum(self.resolutions))
        parts = find_modes(self.logarithms, sum(self.resolutions))
        if len(parts) == 1:
            return parts
        theirs, ours = (
            find_modes(np.log(times), resolution)
            for times, resolution in zip(
                (self.reference, self.candidate), self.resolutions, strict=True
            )
        )
        if len(theirs) != len(ours) or len(ours) == 1:
            return parts
        return tuple(
            DistributionMode(one.value - other.value, min(one.share, other.share))
            for one, other in zip(theirs, ours, strict=True)
        )
