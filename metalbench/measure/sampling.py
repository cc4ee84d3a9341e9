"""Measure a kernel against its reference: sample until the result is known, and summarise.

The core's sampling loop (`csrc/core/sampling.h`) times the windows. This module decides when to
stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from metalbench.measure.measurement import ByWall, Measurement, StopReason
from metalbench.measure.plan import Plan
from metalbench.measure.samples import SampleSet
from metalbench.measure.series import Progress, Sampler, Series, Sides
from metalbench.measure.slope import estimate_slope
from metalbench.stats import (
    Judgement,
    StoppingRule,
    Verdict,
    assess,
    clock_resolution,
    effective_sample_size,
    explain_throttling,
    find_drift,
    find_modes,
    find_outliers,
    median_interval,
    stability,
)

# With fewer batches, a different level of each set of inputs cannot be detected.
FIRST_BATCHES = 4


def measure(
    device: Sampler,
    sides: Sides,
    plan: Plan,
    *,
    progress: Progress | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Measurement:
    """Time a candidate against its reference in randomly ordered pairs.

    Parameters
    ----------
    device
        Its `sample` takes the times.
    sides
        Candidate and reference. Without a reference the candidate is timed alone.
    plan
        Limits and precision.
    progress
        Called with the fraction of the measurement that is done, at most five times a second.
    clock
        Returns seconds. Tests replace it.

    Raises MetalBenchError if the kernel fails or hangs.
    """
    series = Series(device, sides, plan, progress, clock)
    stopped = _sample_until_known(series, plan)
    samples = series.add_long_windows(series.samples)
    return _summarise(series, samples, stopped)


def _sample_until_known(series: Series, plan: Plan) -> StopReason:
    series.extend(1)  # sets `batch_pairs`
    rule = StoppingRule(
        min(plan.first_analysis, FIRST_BATCHES * series.batch_pairs),
        plan.half_width,
        plan.min_effective,
        plan.settled_half_width,
        step=series.batch_pairs,
    )
    while True:
        series.extend(rule.next_analysis(series.taken))
        if series.throttled:
            return StopReason.THROTTLED
        if _is_known(rule, series.samples, late=series.is_past(plan.seconds / 2)):
            return StopReason.SETTLED if rule.settled else StopReason.PRECISE
        if series.taken >= plan.max_pairs:
            return StopReason.PAIRS
        if series.out_of_time:
            return StopReason.TIME


def _is_known(rule: StoppingRule, samples: SampleSet, *, late: bool) -> bool:
    """Return whether the candidate's time and the ratio are known precisely enough."""
    times = samples.candidate_ns
    if not samples.reference_ns.size:
        return rule.analyse(times)
    judgement = _assess(samples, samples.reference_ns, times)
    ratios = samples.reference_ns / times
    return rule.analyse(times, ratios, judgement=judgement, late=late)


def _summarise(series: Series, samples: SampleSet, stopped: StopReason) -> Measurement:
    """Return the statistics of all samples."""
    times, references, own = samples.candidate_ns, samples.reference_ns, samples.own
    # The ratio and its verdict.
    has_reference = references.size > 0
    judgement = _judge(series, samples) if has_reference else None
    verdict = judgement.verdict if judgement is not None else None
    if series.throttled:
        verdict = Verdict.THROTTLED
    # Times by the GPU's clock.
    gpu_ns = gpu_floor_ns = None
    if own is not None and np.isfinite(own.device_ns).all():
        gpu_ns = median_interval(own.device_ns)
    if own is not None and own.floor_ns.size:
        gpu_floor_ns = float(np.median(own.floor_ns))
    # Fixed costs of a window: long windows follow the last batch, on the same inputs.
    last = samples.batch == samples.batch[-1]
    candidate_slope = estimate_slope(
        times[last], samples.candidate_window, samples.long_ns, samples.long_base
    )
    reference_slope = None
    if has_reference:
        reference_slope = estimate_slope(
            references[last],
            samples.reference_window,
            samples.reference_long_ns,
            samples.reference_long_base,
        )
    logarithms = np.log(times)
    return Measurement(
        samples=samples,
        candidate_ns=median_interval(times),
        gpu_ns=gpu_ns,
        gpu_floor_ns=gpu_floor_ns,
        by_wall=_summarise_wall_times(samples),
        reference_ns=median_interval(references) if has_reference else None,
        ratio=judgement.ratio if judgement is not None else None,
        verdict=verdict,
        judgement=judgement,
        stability=stability(times),
        outliers=int(find_outliers(times).sum()),
        effective_pairs=judgement.effective_pairs if judgement else effective_sample_size(times),
        floor_ns=float(np.median(samples.floor_ns)) if samples.floor_ns.size else 0.0,
        stopped=stopped,
        mode=series.plan.mode,
        steadiness=series.steadiness,
        remarks=series.remarks,
        slope=candidate_slope,
        reference_slope=reference_slope,
        drift=find_drift(logarithms),
        modes=find_modes(logarithms, clock_resolution(times)),
    )


def _summarise_wall_times(samples: SampleSet) -> ByWall | None:
    own = samples.own
    if own is None or samples.clock == "wall" or not own.reference_wall_ns.size:
        return None
    judgement = _assess(samples, own.reference_wall_ns, own.wall_ns)
    return ByWall(
        median_interval(own.wall_ns), median_interval(own.reference_wall_ns), judgement.ratio
    )


def _judge(series: Series, samples: SampleSet) -> Judgement:
    judgement = _assess(samples, samples.reference_ns, samples.candidate_ns)
    if not series.throttled:
        return judgement
    reason = explain_throttling(series.drop, series.steadiness.retries)
    return replace(judgement, verdict=Verdict.THROTTLED, reasons=(reason,))


def _assess(
    samples: SampleSet, reference_ns: NDArray[np.float64], candidate_ns: NDArray[np.float64]
) -> Judgement:
    return assess(
        reference_ns,
        candidate_ns,
        candidate_first=samples.candidate_first,
        batch=samples.batch,
    )
