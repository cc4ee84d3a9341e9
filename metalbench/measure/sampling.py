"""Take batches of samples, by calls of the core's sampling loop, for one measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metalbench.measure.measurement import (
    LONGER,
    ByWall,
    Measurement,
    Plan,
    SampleSet,
    Steadiness,
    StopReason,
    estimate_slope,
    probe_spread,
    warn_of_lower_clock,
)
from metalbench.stats import (
    LARGE_EFFECT_PAIRS,
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
    is_large_effect,
    log_ratios,
    median_interval,
    stability,
)

if TYPE_CHECKING:
    from metalbench._core import Dispatch, Samples


# Called with the time spent on sampling, as a fraction of the limit.
Progress = Callable[[float], None]
# Called before each batch with its number: exchanges the inputs of both sides.
Refresh = Callable[[int], None]
# Called between two random windows of a batch. The inputs must be the same afterwards.
Interlude = Callable[[], None]
# Least number of batches that fit into the time, as long as a batch has this number of pairs: all
# pairs of a batch have the same inputs, but a measurement should have several inputs.
BATCHES = 32
FEWEST_IN_BATCH = 4
# `min_pairs` may take this multiple of the time; after that, these are enough.
OVERRUN = 4
FEWEST_PAIRS = 8
# Part of the first warm-up that follows an exchange of inputs: 1 / REWARM.
REWARM = 20
# Part of a measurement's time for long windows, and the least number of them.
LONG_SHARE = 0.0625
FEWEST_LONG = 3
# Batches 1 and 2 have an interlude. Each later batch has one with this probability, as long as
# interludes have taken at most this part of the measurement's time.
BATCHES_WITH_INTERLUDE = (1, 2)
INTERLUDE_PROBABILITY = 0.25
INTERLUDE_SHARE = 0.05
# A settled verdict ends the sampling after this part of its time, however wide the intervals are.
SETTLED_SHARE = 0.125
# Drawing progress uses the GPU and a CPU core, and disturbs the measurement.
SECONDS_BETWEEN_REPORTS = 0.2


class Sampler(Protocol):
    """The part of a device that measuring uses."""

    @property
    def own_clock(self) -> bool:
        """Whether times are of the device's own clock."""

    @property
    def sample(self) -> Callable[..., Samples]:
        """Take samples, as `_core.Device.sample`."""


@dataclass(frozen=True)
class Sides:
    """The candidate and the reference of a measurement.

    Attributes
    ----------
    candidate, repeats
        Dispatches that do the work of a pass `repeats` times, or a function that runs k chained
        repetitions to completion.
    reference, reference_repeats
        The same for the reference; None without a reference.
    probe
        Dispatches of fixed work in registers, whose time tells the clock; empty for no probe.
    refresh
        Exchanges the inputs of both sides before a batch.
    interlude
        Runs between two random windows of a batch.
    alike
        Give both sides windows of the same length, so that both share the fixed cost of a window
        equally.
    """

    candidate: Any
    reference: Callable[[int], None] | Sequence[Dispatch] | None = None
    repeats: int = 1
    reference_repeats: int = 1
    probe: Sequence[Dispatch] = ()
    refresh: Refresh | None = None
    interlude: Interlude | None = None
    alike: bool = False


@dataclass
class Series:
    """The batches so far, and the time spent on them in s, without the first warm-up."""

    device: Sampler
    sides: Sides
    plan: Plan
    progress: Progress | None
    clock: Callable[[], float]
    # Calls of the core's sampling loop, and the batch of each: an interlude splits a batch.
    calls: list[Samples] = field(default_factory=list)
    batch_of_call: list[int] = field(default_factory=list)
    taken: int = 0
    spent: float = 0.0
    best_probe_ns: float = 0.0
    drop: float = 0.0
    steadiness: Steadiness = field(default_factory=Steadiness)
    _begun: int = 0
    _windows: tuple[int, int] = 0, 0
    _passes_per_command_buffer: int = 0
    _batch_pairs: int = 0
    _reported_at: float = -math.inf
    _batches: int = 0
    _interludes_s: float = 0.0

    def __post_init__(self) -> None:
        """Seed the moments of interludes independently of the order within pairs."""
        self._random = np.random.default_rng([self.plan.seed, 1])
        self._warmup_ns = self.plan.warmup_ns_on(own_clock=self.device.own_clock)

    @property
    def samples(self) -> SampleSet:
        """All samples so far."""
        return SampleSet.join(
            self.calls, batches=self.batch_of_call, own_clock=self.device.own_clock
        )

    @property
    def throttled(self) -> bool:
        """Whether the clock stayed low after all rests."""
        return self.steadiness.throttled

    @property
    def remarks(self) -> tuple[str, ...]:
        """A warning if the clock was lower at times and `obeys_probe` is off."""
        plan, spread = self.plan, self.steadiness.spread
        watched = self.device.own_clock and not plan.obeys_probe
        if not watched or spread is None or spread <= plan.probe_drop:
            return ()
        return (warn_of_lower_clock(spread),)

    @property
    def out_of_time(self) -> bool:
        """Whether another batch would exceed the time, and there are enough pairs."""
        plan = self.plan
        if self.taken < plan.min_pairs:
            if self.taken >= FEWEST_PAIRS and self.spent > OVERRUN * plan.seconds:
                return True
            return self.taken >= LARGE_EFFECT_PAIRS and self._late_and_far_apart
        return self.is_past(plan.seconds)

    @property
    def batch_pairs(self) -> int:
        """The pairs of a batch: the plan's, or as many as fit into an equal part of the time."""
        return self._batch_pairs or self.plan.batch_pairs

    def is_past(self, seconds: float) -> bool:
        """Return whether this time is spent, rounded to a batch."""
        return self.spent + 0.5 * self.spent / max(self._batches, 1) > seconds

    @property
    def is_far_apart(self) -> bool:
        """Whether enough time is spent, and few pairs suffice for the verdict of a large effect."""
        if self.taken < FEWEST_PAIRS or not self.is_past(self.plan.seconds * SETTLED_SHARE):
            return False
        if not self._has_large_effect:
            return False
        samples = self.samples
        verdict = _assess(samples, samples.reference_ns, samples.candidate_ns).verdict
        return verdict in (Verdict.FASTER, Verdict.SLOWER)

    @property
    def _late_and_far_apart(self) -> bool:
        """Whether the time is up, and all pairs say by far which side is faster."""
        return self.taken > 0 and self.spent > self.plan.seconds and self._has_large_effect

    @property
    def _has_large_effect(self) -> bool:
        samples = self.samples
        if not samples.reference_ns.size:
            return False
        return is_large_effect(log_ratios(samples.reference_ns, samples.candidate_ns))

    def extend(self, wanted: int) -> None:
        """Take whole batches until there are `wanted` or `max_pairs` pairs, or the time is up."""
        while self.taken < min(wanted, self.plan.max_pairs) and not self.throttled:
            if self.out_of_time or self.is_far_apart:
                break
            self._take_batch()

    def _take_batch(self) -> None:
        plan = self.plan
        if self.sides.alike and not self._begun:
            self._find_equal_windows()
        pairs = min(self.batch_pairs, plan.max_pairs - self.taken)
        if self.taken < LARGE_EFFECT_PAIRS and self._late_and_far_apart:
            pairs = min(pairs, LARGE_EFFECT_PAIRS - self.taken)
        if self._has_interlude():
            before = int(self._random.integers(1, pairs, endpoint=True))
            self._take_pairs(before)
            self._take_interlude()
            if before < pairs and not self.throttled:
                self._take_pairs(pairs - before, refresh=False)
        else:
            self._take_pairs(pairs)
        self._batches += 1
        if self.throttled and not self.taken:
            # Report some samples, even if they were throttled; the verdict says so.
            limit = int(plan.seconds * 1e9)
            self._append(
                self._sample(
                    max_pairs=plan.min_pairs, min_pairs=1, time_limit_ns=limit, probe_drop=0.0
                )
            )

    def _take_pairs(self, pairs: int, *, refresh: bool = True) -> None:
        plan = self.plan
        drop = plan.probe_drop if plan.obeys_probe and self.device.own_clock else 0.0
        call = self._sample(
            refresh=refresh,
            max_pairs=pairs,
            min_pairs=min(pairs, FEWEST_IN_BATCH),
            time_limit_ns=self._batch_limit_ns(),
            probe_drop=drop,
            retries=max(0, plan.retries - self.steadiness.retries),
        )
        self._batch_pairs = self._batch_pairs or max(len(call.candidate_ns), FEWEST_IN_BATCH)
        if drop and self.best_probe_ns > (1 + drop) * call.best_probe_ns > 0:
            self._discard()  # the clock was low in all earlier samples
        self._append(call)

    def _has_interlude(self) -> bool:
        """Decide whether the next batch has an interlude."""
        if self.sides.interlude is None or not self._batch_pairs:
            return False
        if self._batches in BATCHES_WITH_INTERLUDE:
            return True
        affordable = self._interludes_s < INTERLUDE_SHARE * self.plan.seconds
        return affordable and self._random.random() < INTERLUDE_PROBABILITY

    def _take_interlude(self) -> None:
        assert self.sides.interlude is not None
        start = self.clock()
        self.sides.interlude()
        taken = self.clock() - start
        self._interludes_s += taken
        self.spent += taken

    def _find_equal_windows(self) -> None:
        """Warm up both sides and use the longer window for both; discard these samples.

        The core finds the window of one side after the other. A side that still becomes faster
        would have a longer one.
        """
        limit = int(self.plan.seconds * 1e9)
        self._sample(max_pairs=1, min_pairs=1, time_limit_ns=limit, probe_drop=0.0)
        self._windows = (max(self._windows), max(self._windows))

    def add_long_windows(self, samples: SampleSet) -> SampleSet:
        """Return the samples with long windows of both sides, if there is time for them."""
        pair_ns = samples.candidate_window * self.sides.repeats * float(samples.candidate_ns[-1])
        if samples.reference_ns.size:
            passes = samples.reference_window * self.sides.reference_repeats
            pair_ns += passes * float(samples.reference_ns[-1])
        affordable = LONG_SHARE * self.plan.seconds * 1e9 / (LONGER * pair_ns)
        count = int(min(self.plan.long_windows, affordable))
        if self.throttled or count < FEWEST_LONG:
            return samples
        call = self._sample(
            refresh=False,
            max_pairs=0,
            min_pairs=0,
            time_limit_ns=0,
            probe_drop=0.0,
            long_windows=count,
        )
        return samples.add_long_windows(call)

    def _batch_limit_ns(self) -> int:
        """Return the time limit of a batch. The first one has an equal part of the time."""
        part = self.plan.seconds / BATCHES
        if self._batch_pairs:
            part = max(part, self.plan.seconds - self.spent)
        return int(part * 1e9)

    def _rewarm_ns(self) -> int:
        """Return the warm-up after an exchange of inputs; 0 if a pair is as long as the first."""
        if self.sides.refresh is None:
            return 0
        pair_s = self.spent / max(self.taken, 1)
        return self._warmup_ns // REWARM if pair_s * 1e9 < self._warmup_ns else 0

    def _sample(self, *, refresh: bool = True, **options: Any) -> Samples:
        plan, begun = self.plan, self.clock()
        warmup_ns = self._warmup_ns
        if self._begun:
            warmup_ns = self._rewarm_ns()
            if refresh and self.sides.refresh is not None:
                self.sides.refresh(self._begun)
        start = begun if self._begun else begun + warmup_ns / 1e9
        call = self.device.sample(
            self.sides.candidate,
            self.sides.reference,
            probe=self.sides.probe,
            candidate_repeats=self.sides.repeats,
            reference_repeats=self.sides.reference_repeats,
            window_ns=plan.window_ns_on(own_clock=self.device.own_clock),
            candidate_window=self._windows[0],
            reference_window=self._windows[1],
            passes_per_command_buffer=self._passes_per_command_buffer,
            warmup_ns=warmup_ns,
            seed=plan.seed + self.taken,
            best_probe_ns=self.best_probe_ns,
            cool_ns=plan.cool_ns,
            progress=lambda done, _: self._report_progress(start, self.taken + done),
            **options,
        )
        first_warmup_s = 0.0 if self._begun else call.warmup_ns / 1e9
        self.spent += self.clock() - begun - first_warmup_s
        self._windows = int(call.candidate_window), int(call.reference_window)
        self._passes_per_command_buffer = int(call.passes_per_command_buffer)
        self._begun += 1
        return call

    def _append(self, call: Samples) -> None:
        self.calls.append(call)
        self.batch_of_call.append(self._batches)
        if call.throttled:
            self.drop = float(call.probe_ns[-1] / call.best_probe_ns) - 1
        self.taken += len(call.candidate_ns)
        self.best_probe_ns = float(call.best_probe_ns)
        before = self.steadiness
        probes = np.concatenate([np.asarray(each.probe_ns) for each in self.calls])
        self.steadiness = Steadiness(
            before.discarded + int(call.discarded),
            before.retries + int(call.retries),
            before.throttled or bool(call.throttled),
            probe_spread(probes),
        )

    def _discard(self) -> None:
        before = self.steadiness
        self.steadiness = replace(before, discarded=before.discarded + self.taken)
        self.calls.clear()
        self.batch_of_call.clear()
        self.taken = 0

    def _report_progress(self, start: float, pairs: int) -> None:
        now = self.clock()
        if self.progress is not None and now - self._reported_at >= SECONDS_BETWEEN_REPORTS:
            self._reported_at = now
            passed = self.spent + max(0.0, now - start)
            # A slow kernel continues after its time, until it has `min_pairs`.
            self.progress(min(1.0, passed / self.plan.seconds, pairs / self.plan.min_pairs))


# Measure a kernel against its reference: sample until the result is known, and summarise.
#
# The core's sampling loop (`csrc/core/sampling.h`) times the windows. This module decides when to
# stop.

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
        if series.is_far_apart:
            return StopReason.SETTLED
        if _is_known(rule, series.samples, late=series.is_past(plan.seconds * SETTLED_SHARE)):
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
