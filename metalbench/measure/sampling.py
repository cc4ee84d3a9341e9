"""Drives the core's sampling loop: looks, the stopping rule, and the summary.

The core decides when to time what; this module only decides whether to ask for more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metalbench.measure.measurement import Measurement, Stopped
from metalbench.measure.own_clock import OwnClock
from metalbench.measure.plan import Plan
from metalbench.stats import (
    StoppingRule,
    assess,
    effective_count,
    median_interval,
    outliers,
    stability,
)

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch, Samples

# Given the time spent on sampling so far, as a fraction of what it may take.
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class SampleSet:
    """Every raw sample of a measurement, in the order in which it was taken.

    Times are float64 nanoseconds of one pass, shape (pairs,); `floor_ns` those of a pass of empty
    kernels of the same grids, shape (any,). A window is how many passes one sample averages over;
    where looks chose different ones it is the last look's. `clock` says what these times are of:
    "device", or "wall" where only one side has a clock of its own; `own` is the candidate on that.
    """

    candidate_ns: NDArray[np.float64]
    reference_ns: NDArray[np.float64]
    candidate_first: NDArray[np.bool_]
    floor_ns: NDArray[np.float64]
    candidate_window: int
    reference_window: int
    tick_ns: float
    clock: str = "device"
    own: OwnClock | None = None

    @classmethod
    def join(cls, looks: Sequence[Samples], *, own_clock: bool) -> SampleSet:
        """Concatenate the samples of one look after the other."""

        def joined(arrays: Iterable[NDArray[Any]], dtype: type) -> NDArray[Any]:
            return np.concatenate([np.asarray(array, dtype=dtype) for array in arrays])

        return cls(
            candidate_ns=joined((look.candidate_ns for look in looks), np.float64),
            reference_ns=joined((look.reference_ns for look in looks), np.float64),
            candidate_first=joined((look.candidate_first for look in looks), np.bool_),
            floor_ns=joined((look.floor_ns for look in looks), np.float64),
            candidate_window=int(looks[-1].candidate_window),
            reference_window=int(looks[-1].reference_window),
            tick_ns=float(looks[-1].tick_ns),
            clock=looks[-1].clock,
            own=OwnClock.join(looks) if own_clock else None,
        )


def measure(
    device: Device,
    candidate: Sequence[Dispatch],
    reference: Callable[[int], None] | None,
    plan: Plan,
    *,
    progress: Progress | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Measurement:
    """Time `candidate` against `reference` in randomly ordered pairs.

    Parameters
    ----------
    device, candidate
        Whose `sample` does the timing, of the dispatches of one pass.
    reference
        Runs k chained repetitions to completion; None measures the candidate alone.
    plan
        Limits and wanted precision.
    progress
        Told the fraction of the measurement that is done, as often as the core reports.
    clock
        Seconds; replaced in tests.

    Raises MetalBenchError if the device does: the kernel fails or hangs.
    """
    series = _Series(device, candidate, reference, plan, progress, clock)
    rule = StoppingRule(plan.first_look, plan.half_width, plan.min_effective)
    while True:
        wanted = rule.next_look(series.taken)
        series.extend(wanted)
        samples = SampleSet.join(series.looks, own_clock=device.own_clock)
        if rule.look(*_looked_at(samples)):
            return _summary(samples, Stopped.PRECISE)
        if series.spent >= plan.seconds or series.taken < min(wanted, plan.max_pairs):
            return _summary(samples, Stopped.TIME)
        if series.taken >= plan.max_pairs:
            return _summary(samples, Stopped.PAIRS)


@dataclass
class _Series:
    """The looks taken so far, and the time that they took, warm-up excluded."""

    device: Device
    candidate: Sequence[Dispatch]
    reference: Callable[[int], None] | None
    plan: Plan
    progress: Progress | None
    clock: Callable[[], float]
    looks: list[Samples] = field(default_factory=list)
    taken: int = 0
    spent: float = 0.0

    def extend(self, wanted: int) -> None:
        """Sample until there are `wanted` pairs, or the time or the pairs are used up."""
        plan = self.plan
        missing = min(wanted, plan.max_pairs) - self.taken
        warmup_ns = 0 if self.taken else plan.warmup_ns
        # The core's own time limit includes its warm-up; the plan's does not.
        start = self.clock() + warmup_ns / 1e9
        look = self.device.sample(
            self.candidate,
            self.reference,
            max_pairs=missing,
            min_pairs=min(missing, max(1, plan.min_pairs - self.taken)),
            window_ns=plan.window_ns,
            warmup_ns=warmup_ns,
            time_limit_ns=warmup_ns + int(max(plan.seconds - self.spent, 0.0) * 1e9),
            seed=plan.seed + self.taken,
            progress=lambda done, _: self._tell(start, self.taken + done),
        )
        self.looks.append(look)
        self.taken += len(look.candidate_ns)
        self.spent += max(0.0, self.clock() - start)

    def _tell(self, start: float, pairs: int) -> None:
        if self.progress is not None:
            passed = self.spent + max(0.0, self.clock() - start)
            # A slow kernel goes on beyond its time, until it has its least pairs.
            self.progress(min(1.0, passed / self.plan.seconds, pairs / self.plan.min_pairs))


def _looked_at(samples: SampleSet) -> list[NDArray[np.float64]]:
    """What has to be known well enough: the candidate's time and the ratio."""
    times = samples.candidate_ns
    return [times, samples.reference_ns / times] if samples.reference_ns.size else [times]


def _summary(samples: SampleSet, stopped: Stopped) -> Measurement:
    has_reference = samples.reference_ns.size > 0
    judgement = assess(samples.reference_ns, samples.candidate_ns) if has_reference else None
    return Measurement(
        samples=samples,
        candidate_ns=median_interval(samples.candidate_ns),
        gpu_ns=median_interval(samples.own.device_ns) if samples.own is not None else None,
        reference_ns=median_interval(samples.reference_ns) if has_reference else None,
        ratio=judgement.ratio if judgement is not None else None,
        verdict=judgement.verdict if judgement is not None else None,
        judgement=judgement,
        stability=stability(samples.candidate_ns),
        outliers=int(outliers(samples.candidate_ns).sum()),
        effective_pairs=effective_count(samples.candidate_ns),
        floor_ns=float(np.median(samples.floor_ns)) if samples.floor_ns.size else 0.0,
        stopped=stopped,
    )
