"""Looks: calls of the core's sampling loop that belong to one measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from metalbench.measure.plan import Plan
from metalbench.measure.samples import SampleSet
from metalbench.measure.slope import LONGER
from metalbench.measure.steadiness import Steadiness, spread_of

if TYPE_CHECKING:
    from metalbench._core import Dispatch, Samples

# Given the time spent on sampling so far, as a fraction of what it may take.
Progress = Callable[[float], None]
# Called between looks with the number of the next: puts other inputs in place.
Refresh = Callable[[int], None]
# Windows of four times the passes may take so much of a measurement's time; fewer say nothing.
LONG_SHARE = 0.25
FEWEST_LONG = 3


class Sampler(Protocol):
    """A device as measuring sees it."""

    @property
    def own_clock(self) -> bool:
        """Whether its times are not the host's."""

    @property
    def sample(self) -> Callable[..., Samples]:
        """Takes one plan of samples, as `_core.Device.sample` does."""


@dataclass(frozen=True)
class Sides:
    """What is timed against what.

    `candidate` are the dispatches of one pass, which does the work `repeats` times; `reference`
    runs k chained repetitions to completion, or is the dispatches of a pass of its own, or None.
    `probe` is work of a fixed length in registers alone, none if empty. `refresh` puts other inputs
    in place for both sides.
    """

    candidate: Any
    reference: Callable[[int], None] | Sequence[Dispatch] | None = None
    repeats: int = 1
    probe: Sequence[Dispatch] = ()
    refresh: Refresh | None = None


@dataclass
class Series:
    """The looks taken so far, and the time that they took, warm-up excluded."""

    device: Sampler
    sides: Sides
    plan: Plan
    progress: Progress | None
    clock: Callable[[], float]
    looks: list[Samples] = field(default_factory=list)
    taken: int = 0
    spent: float = 0.0
    best_probe_ns: float = 0.0
    drop: float = 0.0
    steadiness: Steadiness = field(default_factory=Steadiness)
    _begun: int = 0

    @property
    def samples(self) -> SampleSet:
        """Everything taken so far."""
        return SampleSet.join(self.looks, own_clock=self.device.own_clock)

    @property
    def throttled(self) -> bool:
        """Whether the clock stayed low in spite of all rests."""
        return self.steadiness.throttled

    def extend(self, wanted: int) -> None:
        """Sample until there are `wanted` pairs, or the time or the pairs are used up."""
        plan = self.plan
        missing = min(wanted, plan.max_pairs) - self.taken
        drop = plan.probe_drop if self.device.own_clock else 0.0
        look = self._look(
            max_pairs=missing,
            min_pairs=min(missing, max(1, plan.min_pairs - self.taken)),
            probe_drop=drop,
            retries=max(0, plan.retries - self.steadiness.retries),
        )
        if drop and self.best_probe_ns > (1 + drop) * look.best_probe_ns > 0:
            self._forget()  # the clock was low all along
        self._keep(look)
        if self.throttled and not self.taken:
            # There has to be something to show; the verdict says what it is worth.
            self._keep(self._look(max_pairs=plan.min_pairs, min_pairs=1, probe_drop=0.0))

    def with_long_windows(self, samples: SampleSet) -> SampleSet:
        """The samples with the times of long windows, if those can be afforded."""
        window_ns = samples.candidate_window * self.sides.repeats * float(samples.candidate_ns[-1])
        affordable = LONG_SHARE * self.plan.seconds * 1e9 / (LONGER * window_ns)
        count = int(min(self.plan.long_windows, affordable))
        if self.throttled or count < FEWEST_LONG:
            return samples
        look = self._look(max_pairs=0, min_pairs=0, probe_drop=0.0, long_windows=count)
        return replace(
            samples,
            long_ns=np.asarray(look.long_ns, dtype=np.float64),
            long_base=int(look.candidate_window),
        )

    def _look(self, **options: Any) -> Samples:
        plan = self.plan
        warmup_ns = plan.warmup_ns
        if self._begun:
            warmup_ns = plan.warmup_ns // 4 if self.sides.refresh is not None else 0
            if self.sides.refresh is not None:
                self.sides.refresh(self._begun)
        self._begun += 1
        # The core's own time limit includes its warm-up; the plan's does not.
        start = self.clock() + warmup_ns / 1e9
        look = self.device.sample(
            self.sides.candidate,
            self.sides.reference,
            probe=self.sides.probe,
            candidate_repeats=self.sides.repeats,
            window_ns=plan.window_ns,
            warmup_ns=warmup_ns,
            time_limit_ns=warmup_ns + int(max(plan.seconds - self.spent, 0.0) * 1e9),
            seed=plan.seed + self.taken,
            best_probe_ns=self.best_probe_ns,
            cool_ns=plan.cool_ns,
            progress=lambda done, _: self._tell(start, self.taken + done),
            **options,
        )
        self.spent += max(0.0, self.clock() - start)
        return look

    def _keep(self, look: Samples) -> None:
        self.looks.append(look)
        if look.throttled:
            self.drop = float(look.probe_ns[-1] / look.best_probe_ns) - 1
        self.taken += len(look.candidate_ns)
        self.best_probe_ns = float(look.best_probe_ns)
        before = self.steadiness
        probes = np.concatenate([np.asarray(each.probe_ns) for each in self.looks])
        self.steadiness = Steadiness(
            before.discarded + int(look.discarded),
            before.retries + int(look.retries),
            before.throttled or bool(look.throttled),
            spread_of(probes),
        )

    def _forget(self) -> None:
        before = self.steadiness
        self.steadiness = replace(before, discarded=before.discarded + self.taken)
        self.looks.clear()
        self.taken = 0

    def _tell(self, start: float, pairs: int) -> None:
        if self.progress is not None:
            passed = self.spent + max(0.0, self.clock() - start)
            # A slow kernel goes on beyond its time, until it has its least pairs.
            self.progress(min(1.0, passed / self.plan.seconds, pairs / self.plan.min_pairs))
