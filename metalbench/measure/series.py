"""Looks: calls of the core's sampling loop that belong to one measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from metalbench.measure.plan import Plan
from metalbench.measure.samples import SampleSet
from metalbench.measure.slope import LONGER
from metalbench.measure.steadiness import Steadiness, lower_clock, spread_of
from metalbench.stats import LARGE_EFFECT_PAIRS, is_large_effect, log_ratios

if TYPE_CHECKING:
    from metalbench._core import Dispatch, Samples

# Given the time spent on sampling so far, as a fraction of what it may take.
Progress = Callable[[float], None]
# Called between looks with the number of the next: puts other inputs in place.
Refresh = Callable[[int], None]
# Called between two windows of a look, at a random one: leaves the inputs as they are.
Interlude = Callable[[], None]
# So many looks at least fit into the time, down to so many pairs in each: what is the same within a
# look, its inputs, should not be so for the whole measurement.
LOOKS = 8
FEWEST_IN_LOOK = 4
# The least pairs may take so many times the time; then these have to do.
OVERRUN = 4
FEWEST_PAIRS = 8
# Of the first warm-up, after inputs were exchanged.
REWARM = 20
# Windows of four times the passes may take so much of a measurement's time; fewer say nothing.
LONG_SHARE = 0.125
FEWEST_LONG = 3
# Looks 1 and 2 have an interlude, and of later ones each with this probability, as long as
# interludes have taken no larger part of a measurement's time than this.
LOOKS_WITH_INTERLUDE = (1, 2)
INTERLUDE_PROBABILITY = 0.25
INTERLUDE_SHARE = 0.05
# Who hears of progress draws it, on the GPU that is timed and with a core that times it.
SECONDS_BETWEEN_TELLINGS = 0.2


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
    those of a pass of its own, which does it `reference_repeats` times, or None. In the place of
    either may stand a function that runs k chained repetitions to completion.
    `probe` is work of a fixed length in registers alone, none if empty. `refresh` puts other inputs
    in place for both sides. `interlude` runs passes of its own at moments that no kernel can know.
    `alike` gives both sides windows of equally many passes: a window has a cost of its own, which
    more passes share.
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
    """The looks taken so far, and the time that they took, the first warm-up excluded."""

    device: Sampler
    sides: Sides
    plan: Plan
    progress: Progress | None
    clock: Callable[[], float]
    # The calls of the core's loop, and the look that each belongs to: an interlude splits a look.
    calls: list[Samples] = field(default_factory=list)
    looks_of_calls: list[int] = field(default_factory=list)
    taken: int = 0
    spent: float = 0.0
    best_probe_ns: float = 0.0
    drop: float = 0.0
    steadiness: Steadiness = field(default_factory=Steadiness)
    _begun: int = 0
    _windows: tuple[int, int] = 0, 0
    _passes_per_command_buffer: int = 0
    _look_pairs: int = 0
    _told: float = -math.inf
    _looks: int = 0
    _interludes_s: float = 0.0

    def __post_init__(self) -> None:
        """Draw the moments of interludes from other numbers than the order within pairs."""
        self._random = np.random.default_rng([self.plan.seed, 1])

    @property
    def samples(self) -> SampleSet:
        """Everything taken so far."""
        return SampleSet.join(
            self.calls, looks=self.looks_of_calls, own_clock=self.device.own_clock
        )

    @property
    def throttled(self) -> bool:
        """Whether the clock stayed low in spite of all rests."""
        return self.steadiness.throttled

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said of a clock that was seen to be lower at times, and not obeyed."""
        plan, spread = self.plan, self.steadiness.spread
        watched = self.device.own_clock and not plan.obeys_probe
        if not watched or spread is None or spread <= plan.probe_drop:
            return ()
        return (lower_clock(spread),)

    @property
    def out_of_time(self) -> bool:
        """Whether another look would be over the time, and there are pairs enough."""
        plan = self.plan
        if self.taken < plan.min_pairs:
            if self.taken >= FEWEST_PAIRS and self.spent > OVERRUN * plan.seconds:
                return True
            return self.taken >= LARGE_EFFECT_PAIRS and self._late_and_far_apart
        return self.is_past(plan.seconds)

    @property
    def look_pairs(self) -> int:
        """How many pairs a look has: the plan's, or what fits into an equal part of the time."""
        return self._look_pairs or self.plan.look_pairs

    def is_past(self, seconds: float) -> bool:
        """Whether so much time is spent, to the nearest look."""
        return self.spent + 0.5 * self.spent / max(self._looks, 1) > seconds

    @property
    def _late_and_far_apart(self) -> bool:
        """Whether the time is up, and the pairs so far leave no doubt who is faster."""
        if not self.taken or self.spent <= self.plan.seconds:
            return False
        samples = self.samples
        if not samples.reference_ns.size:
            return False
        return is_large_effect(log_ratios(samples.reference_ns, samples.candidate_ns))

    def extend(self, wanted: int) -> None:
        """Take whole looks until there are `wanted` pairs, or the time or the pairs are used up."""
        while self.taken < min(wanted, self.plan.max_pairs) and not self.throttled:
            if self.out_of_time:
                break
            self._take_look()

    def _take_look(self) -> None:
        plan = self.plan
        if self.sides.alike and not self._begun:
            self._find_equal_windows()
        pairs = min(self.look_pairs, plan.max_pairs - self.taken)
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
        self._looks += 1
        if self.throttled and not self.taken:
            # There has to be something to show; the verdict says what it is worth.
            limit = int(plan.seconds * 1e9)
            self._keep(
                self._look(
                    max_pairs=plan.min_pairs, min_pairs=1, time_limit_ns=limit, probe_drop=0.0
                )
            )

    def _take_pairs(self, pairs: int, *, refresh: bool = True) -> None:
        plan = self.plan
        drop = plan.probe_drop if plan.obeys_probe and self.device.own_clock else 0.0
        look = self._look(
            refresh=refresh,
            max_pairs=pairs,
            min_pairs=min(pairs, FEWEST_IN_LOOK),
            time_limit_ns=self._look_limit_ns(),
            probe_drop=drop,
            retries=max(0, plan.retries - self.steadiness.retries),
        )
        self._look_pairs = self._look_pairs or max(len(look.candidate_ns), FEWEST_IN_LOOK)
        if drop and self.best_probe_ns > (1 + drop) * look.best_probe_ns > 0:
            self._forget()  # the clock was low all along
        self._keep(look)

    def _has_interlude(self) -> bool:
        """Decide whether the look that is about to be taken has an interlude."""
        if self.sides.interlude is None or not self._look_pairs:
            return False
        if self._looks in LOOKS_WITH_INTERLUDE:
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
        """Warm both sides up and take the larger window for both; these samples do not count.

        Windows are found one side after the other: what still becomes faster has a smaller one.
        """
        limit = int(self.plan.seconds * 1e9)
        self._look(max_pairs=1, min_pairs=1, time_limit_ns=limit, probe_drop=0.0)
        self._windows = (max(self._windows), max(self._windows))

    def with_long_windows(self, samples: SampleSet) -> SampleSet:
        """The samples with the times of long windows of both sides, if those can be afforded."""
        pair_ns = samples.candidate_window * self.sides.repeats * float(samples.candidate_ns[-1])
        if samples.reference_ns.size:
            passes = samples.reference_window * self.sides.reference_repeats
            pair_ns += passes * float(samples.reference_ns[-1])
        affordable = LONG_SHARE * self.plan.seconds * 1e9 / (LONGER * pair_ns)
        count = int(min(self.plan.long_windows, affordable))
        if self.throttled or count < FEWEST_LONG:
            return samples
        look = self._look(
            max_pairs=0, min_pairs=0, time_limit_ns=0, probe_drop=0.0, long_windows=count
        )
        return samples.with_long(look)

    def _look_limit_ns(self) -> int:
        """An equal part of the time for the first look; later ones have the same pairs."""
        part = self.plan.seconds / LOOKS
        if self._look_pairs:
            part = max(part, self.plan.seconds - self.spent)
        return int(part * 1e9)

    def _rewarm_ns(self) -> int:
        """None where a pair alone takes as long as the first warm-up."""
        if self.sides.refresh is None:
            return 0
        pair_s = self.spent / max(self.taken, 1)
        return self.plan.warmup_ns // REWARM if pair_s * 1e9 < self.plan.warmup_ns else 0

    def _look(self, *, refresh: bool = True, **options: Any) -> Samples:
        plan, begun = self.plan, self.clock()
        warmup_ns = plan.warmup_ns
        if self._begun:
            warmup_ns = self._rewarm_ns()
            if refresh and self.sides.refresh is not None:
                self.sides.refresh(self._begun)
        start = begun if self._begun else begun + warmup_ns / 1e9
        look = self.device.sample(
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
            progress=lambda done, _: self._tell(start, self.taken + done),
            **options,
        )
        first_warmup_s = 0.0 if self._begun else look.warmup_ns / 1e9
        self.spent += self.clock() - begun - first_warmup_s
        self._windows = int(look.candidate_window), int(look.reference_window)
        self._passes_per_command_buffer = int(look.passes_per_command_buffer)
        self._begun += 1
        return look

    def _keep(self, look: Samples) -> None:
        self.calls.append(look)
        self.looks_of_calls.append(self._looks)
        if look.throttled:
            self.drop = float(look.probe_ns[-1] / look.best_probe_ns) - 1
        self.taken += len(look.candidate_ns)
        self.best_probe_ns = float(look.best_probe_ns)
        before = self.steadiness
        probes = np.concatenate([np.asarray(each.probe_ns) for each in self.calls])
        self.steadiness = Steadiness(
            before.discarded + int(look.discarded),
            before.retries + int(look.retries),
            before.throttled or bool(look.throttled),
            spread_of(probes),
        )

    def _forget(self) -> None:
        before = self.steadiness
        self.steadiness = replace(before, discarded=before.discarded + self.taken)
        self.calls.clear()
        self.looks_of_calls.clear()
        self.taken = 0

    def _tell(self, start: float, pairs: int) -> None:
        now = self.clock()
        if self.progress is not None and now - self._told >= SECONDS_BETWEEN_TELLINGS:
            self._told = now
            passed = self.spent + max(0.0, now - start)
            # A slow kernel goes on beyond its time, until it has its least pairs.
            self.progress(min(1.0, passed / self.plan.seconds, pairs / self.plan.min_pairs))
