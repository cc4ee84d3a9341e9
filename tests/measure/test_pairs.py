"""Measured pairs: their order counts, and their effective number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scripted_sampler import ScriptedSampler, ScriptedSamples, steady

from metalbench.measure.measurement import Measurement, Plan
from metalbench.measure.sampling import Sides, measure
from metalbench.stats import Verdict, effective_sample_size


class OrderedSampler(ScriptedSampler):
    """The second window of a pair takes 2 % longer."""

    def sample(self, candidate: Any, reference: object, **plan: Any) -> ScriptedSamples:
        samples = super().sample(candidate, reference, **plan)
        first = np.random.default_rng(plan["seed"]).random(samples.candidate_ns.size) < 0.5
        return replace(
            samples,
            candidate_first=first,
            candidate_ns=samples.candidate_ns * np.where(first, 1.0, 1.02),
            reference_ns=samples.reference_ns * np.where(first, 1.02, 1.0),
        )


class WalkingSampler(ScriptedSampler):
    """Both sides slow down and speed up together."""

    def sample(self, candidate: Any, reference: object, **plan: Any) -> ScriptedSamples:
        samples = super().sample(candidate, reference, **plan)
        steps = np.random.default_rng(plan["seed"] + 1).normal(0.0, 0.02, samples.candidate_ns.size)
        walk = np.exp(np.cumsum(steps))
        return replace(
            samples,
            candidate_ns=samples.candidate_ns * walk,
            reference_ns=samples.reference_ns * walk,
        )


def run(sampler: ScriptedSampler) -> Measurement:
    return measure(sampler, Sides(["dispatch"], object()), Plan(seconds=1.0), clock=sampler.clock)


def test_the_order_in_a_pair_is_taken_out_of_the_ratio() -> None:
    result = run(OrderedSampler(steady(1e4, 0.002), steady(1e4, 0.002)))
    assert result.judgement is not None
    assert result.judgement.order_effect == pytest.approx(0.02, abs=0.002)
    assert result.verdict is Verdict.SAME


def test_effective_pairs_count_the_ratios() -> None:
    """A walk that both sides share leaves the times' samples alike and their ratios independent."""
    result = run(WalkingSampler(steady(1e4, 0.002), steady(1e4, 0.002)))
    assert result.effective_pairs > 0.5 * result.pairs
    assert effective_sample_size(result.samples.candidate_ns) < 0.1 * result.pairs
