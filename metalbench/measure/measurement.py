"""The plan and the result of a measurement, with its precision and clock checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metalbench.stats import DistributionMode as UsualTime
from metalbench.stats import Drift, Interval, Judgement, Verdict, median_interval
from metalbench.stats.location import interval_by_ranks

if TYPE_CHECKING:
    from metalbench._core import Samples


# GPUs take a tenth of a second to raise their clocks, processors some milliseconds.
WARMUP_NS, GPU_WARMUP_NS = 40_000_000, 200_000_000
WINDOW_NS = 1_000_000
# Wall time includes submission to the GPU and back, up to 0.1 ms: a small part of a window.
GPU_WINDOW_NS = 15_000_000


class TimingMode(str, Enum):
    """The state of the caches when a pass begins. Times of different modes do not compare.

    WARM passes use the same buffers, so that data that fits stays in the caches. COLD passes rotate
    over copies that are together at least three times the last-level cache.
    """

    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Plan:
    """Limits and precision of a measurement.

    Attributes
    ----------
    seconds
        Time limit, without the first warm-up.
    seed
        Seed of the order of candidate and reference within each pair.
    window_ns
        Least time of a window; its length is the smallest number of passes that takes this time.
        None for `WINDOW_NS`, or `GPU_WINDOW_NS` on a device with its own clock.
    warmup_ns
        Least warm-up before the first sample; after an exchange of inputs a twentieth of it. It
        takes up to five times as long if times are not stable. None for `WARMUP_NS`, or
        `GPU_WARMUP_NS` on a device with its own clock.
    batch_pairs
        Pairs of a batch, which have the same inputs. A kernel so slow that a batch would take more
        than 1/32 of `seconds` has fewer, but at least four. All batches have the same
        number.
    first_analysis
        Pairs before the first analysis, rounded up to whole batches, at most four batches. Each
        later analysis has half as many pairs more. Analysing after every pair would stop at chance
        results.
    min_pairs
        Least pairs, even if they exceed `seconds`: fewer have no interval. A kernel for which they
        would take more than four times `seconds` gets as few as eight. If all pairs say by far
        which side is faster, eight are enough after an eighth of `seconds`, and five when the time
        is up.
    max_pairs
        Most pairs.
    settled_half_width
        Relative half-width of the time's interval that is enough once the verdict is settled. After
        an eighth of `seconds` any width is.
    half_width
        Relative half-width of the intervals that is enough for every verdict.
    min_effective
        Independent samples (n / tau, the autocorrelation time) that this needs.
    mode
        Warm or cold.
    probe_drop
        Relative slowdown of a probe against the best one that shows a lower clock, on a device with
        its own clock. On other devices, load of other programs has the same effect.
    obeys_probe
        Whether pairs at a lower clock are dropped until it has recovered, and a clock that does not
        recover gives THROTTLED. Off, because the clocks of real GPUs have not been studied yet.
    retries
        Rests after throttling, before giving up.
    cool_ns
        Length of a rest after throttling.
    long_windows
        Windows of four times the passes, of both sides, at the end, to estimate the fixed cost of a
        window; 0 for none.
    """

    seconds: float = 2.0
    seed: int = 0
    window_ns: int | None = None
    warmup_ns: int | None = None
    batch_pairs: int = 32
    first_analysis: int = 128
    min_pairs: int = 12
    max_pairs: int = 4096
    settled_half_width: float = 0.02
    half_width: float = 0.005
    min_effective: float = 100.0
    mode: TimingMode = TimingMode.WARM
    probe_drop: float = 0.03
    obeys_probe: bool = False
    retries: int = 3
    cool_ns: int = 2_000_000_000
    long_windows: int = 7

    def warmup_ns_on(self, *, own_clock: bool) -> int:
        """Return the least warm-up on a device with or without its own clock."""
        if self.warmup_ns is not None:
            return self.warmup_ns
        return GPU_WARMUP_NS if own_clock else WARMUP_NS

    def window_ns_on(self, *, own_clock: bool) -> int:
        """Return the least time of a window on a device with or without its own clock."""
        if self.window_ns is not None:
            return self.window_ns
        return GPU_WINDOW_NS if own_clock else WINDOW_NS


# Estimate the fixed cost of a window, from windows of K passes and of four times K passes.

LONGER = 4
# Largest difference between the times of a pass in short and in long windows.
AGREEMENT = 0.05


@dataclass(frozen=True, slots=True)
class Slope:
    """The straight line through the times of short and of long windows.

    `pass_ns` is the slope: the time of one more pass. `share` is the fixed part of a short window's
    time. `deviation` is the relative difference of a pass in short and in long windows, and `least`
    its lower bound, by the near ends of both medians' intervals.
    """

    pass_ns: float
    share: float
    deviation: float
    least: float

    def doubt(self, whose: str) -> str | None:
        """Return a warning about `whose` times if the fixed cost of a window matters; else None."""
        if self.least <= AGREEMENT:
            return None
        return (
            f"the launches are short: {100 * self.share:.0f} % of {whose} time is the fixed cost "
            "of a window, not of its passes; measure a larger size"
        )


def estimate_slope(
    short_ns: NDArray[np.float64], passes: int, long_ns: NDArray[np.float64], base: int
) -> Slope | None:
    """Return the slope from windows of `passes` to windows of 4 x `base`; None without long ones.

    Parameters
    ----------
    short_ns, long_ns
        Times per pass, shapes (n,) and (m,).
    passes, base
        Passes of a short window, and a quarter of the passes of a long one.
    """
    if not short_ns.size or not long_ns.size:
        return None
    shorter, longer = median_interval(short_ns), median_interval(long_ns)
    short, long = shorter.value, longer.value
    more = LONGER * base
    fixed = (short - long) / (1 / passes - 1 / more)
    least = shorter.low / longer.high - 1 if shorter.is_bounded and longer.is_bounded else 0.0
    return Slope(
        pass_ns=long - fixed / more,
        share=max(0.0, fixed / passes / short),
        deviation=short / long - 1,
        least=least,
    )


# Judge the device's clock by its probe: over time, and after the windows of each side.

# Largest relative difference of the clocks of the two sides.
EQUAL_CLOCKS = 0.02
# A larger difference says only that the clock cannot be trusted.
LARGEST_CLOCK = 9.0
# The interval is the second lowest to the second highest of seven probes, so that one outlier has
# no effect.
CLOCK_CONFIDENCE = 0.87


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The steadiness of the device's clock during sampling.

    `discarded` pairs were throttled and dropped. Sampling continued after `retries` rests. If
    `throttled`, the clock stayed low nevertheless. `spread` is `probe_spread`, None without probes.
    """

    discarded: int = 0
    retries: int = 0
    throttled: bool = False
    spread: float | None = None


def probe_spread(probe_ns: NDArray[np.float64]) -> float | None:
    """Return the 95th percentile of a probe's times over the least, minus 1; None without any."""
    if not probe_ns.size:
        return None
    return float(np.quantile(probe_ns, 0.95) / probe_ns.min()) - 1


def warn_of_lower_clock(spread: float) -> str:
    """Return a warning that the probe took longer at times, by the fraction `spread`."""
    return (
        "the GPU's clock was lower at times: work of a fixed length took up to "
        f"{spread:.0%} longer than at its best; nothing was left out for it, and ratios are of "
        "pairs, which share a clock; for times let the machine cool, close other programs, and run "
        "again"
    )


def clock_ratio(
    after_candidate_ns: NDArray[np.float64], after_reference_ns: NDArray[np.float64]
) -> Interval | None:
    """Return the clock after the candidate's windows / after the reference's.

    Parameters
    ----------
    after_candidate_ns, after_reference_ns
        Times of one probe directly after a long window of a side, shapes (n,): pairs.

    None without pairs. The time of fixed work is inversely proportional to the clock.
    """
    if not after_candidate_ns.size or after_candidate_ns.size != after_reference_ns.size:
        return None
    ratios = after_reference_ns / after_candidate_ns
    # Long windows of both sides lie between two probes, so they count as independent.
    return interval_by_ranks(ratios, ratios.size, CLOCK_CONFIDENCE)


def warn_of_unequal_clocks(ratio: Interval) -> str | None:
    """Return a warning if the clocks of the two sides certainly differ by more than 2 %."""
    differ = ratio.low > 1 + EQUAL_CLOCKS or ratio.high < 1 - EQUAL_CLOCKS
    if not (ratio.is_bounded and differ):
        return None
    lower, higher = ("MLX's", "the kernel's") if ratio.value > 1 else ("the kernel's", "MLX's")
    difference = max(ratio.value, 1 / ratio.value) - 1
    much = f"{difference:.0%}" if difference < LARGEST_CLOCK else f"more than {LARGEST_CLOCK:.0%}"
    return (
        f"the clock differs between the two sides: work of a fixed length takes {much} longer "
        f"directly after {lower} windows than after {higher}, and about so much of the ratio is "
        "the clock's; measure a larger size, which leaves the device no pauses"
    )


# Times by the device's own clock and by wall time, for devices that have both.

# Clocks of one GPU that differ by more than this fraction measure different things.


def _none() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class OwnClock:
    """The windows of both sides by both clocks, GPU and wall, in the order of the samples.

    All are float64 nanoseconds, shape (pairs,).

    Attributes
    ----------
    device_ns, counter_ns, wall_ns
        One pass of the candidate: by start and end of command buffers, by counters at the ends of
        encoders (NaN if there are none), and by wall time.
    encode_ns
        The host's work for a whole window of the candidate.
    reference_device_ns
        GPU time of one pass of the reference; NaN if a command buffer has no times, empty without a
        reference.
    reference_wall_ns
        Wall time of one pass of the reference; empty if windows overlap.
    floor_ns
        Passes of empty kernels by the GPU's clock, shape (any,).
    """

    device_ns: NDArray[np.float64]
    counter_ns: NDArray[np.float64]
    wall_ns: NDArray[np.float64]
    encode_ns: NDArray[np.float64]
    reference_device_ns: NDArray[np.float64] = field(default_factory=_none)
    reference_wall_ns: NDArray[np.float64] = field(default_factory=_none)
    floor_ns: NDArray[np.float64] = field(default_factory=_none)

    @classmethod
    def join(cls, calls: Sequence[Samples]) -> OwnClock:
        """Concatenate the times of several calls of the core's sampling loop."""

        def concatenate(times: Callable[[Samples], NDArray[np.float64]]) -> NDArray[np.float64]:
            return np.concatenate([np.asarray(times(call), dtype=np.float64) for call in calls])

        return cls(
            device_ns=concatenate(lambda call: call.device_ns),
            counter_ns=concatenate(lambda call: call.counter_ns),
            wall_ns=concatenate(lambda call: call.wall_ns),
            encode_ns=concatenate(lambda call: call.encode_ns),
            reference_device_ns=concatenate(lambda call: call.reference_device_ns),
            reference_wall_ns=concatenate(
                lambda call: call.reference_wall_ns if call.clock == "wall" else _none()
            ),
            floor_ns=concatenate(lambda call: call.floor_device_ns),
        )

    @property
    def covers_both(self) -> bool:
        """Whether the GPU's clock timed every window of both sides."""
        sides = (self.device_ns, self.reference_device_ns)
        return all(times.size > 0 and bool(np.isfinite(times).all()) for times in sides)

    @property
    def counter_deviation(self) -> float | None:
        """Median time by counters / median time of command buffers - 1; None without counters."""
        counted = np.isfinite(self.counter_ns)
        if not counted.any():
            return None
        return float(np.median(self.counter_ns[counted]) / np.median(self.device_ns[counted])) - 1

    @property
    def doubt(self) -> str | None:
        """A warning if the two clocks disagree; None if not."""
        deviation = self.counter_deviation
        if deviation is None or abs(deviation) <= AGREEMENT:
            return None
        return (
            f"the GPU's two clocks disagree: by counters a pass takes {abs(100 * deviation):.0f} % "
            f"{'less' if deviation < 0 else 'more'} than by its command buffers; the difference is "
            "waiting, or other programs on the GPU: close them and run again"
        )


# The raw samples of a measurement.


@dataclass(frozen=True, slots=True)
class SampleSet:
    """The raw samples of a measurement, in the order in which they were taken.

    All times are float64 nanoseconds.

    Attributes
    ----------
    candidate_ns, reference_ns
        Times of one pass, shape (pairs,).
    candidate_first
        Whether the candidate was timed first in a pair, shape (pairs,).
    batch
        Number of the batch of each pair, from 0, int64. Pairs of a batch share their inputs.
    floor_ns
        Times of a pass of empty kernels with the same grids, shape (any,).
    candidate_window, reference_window
        Length of a window in passes: one sample is the mean of this number of passes.
    tick_ns
        Resolution of the clock.
    clock
        "device", or "wall" if the device's clock did not time every window of both sides.
    own
        Times of both clocks, on devices that have a clock.
    probe_ns
        Times of probes of the clock, shape (any,).
    long_ns, reference_long_ns
        Times of a pass in long windows, of four times `long_base` and `reference_long_base` passes.
    passes_per_command_buffer, reference_passes_per_command_buffer
        Most passes in a command buffer of the candidate, and the mean of the reference; 0 if the
        device chose the number or it is unknown.
    probe_after_candidate_ns, probe_after_reference_ns
        Times of probes directly after long windows of a side.
    """

    candidate_ns: NDArray[np.float64]
    reference_ns: NDArray[np.float64]
    candidate_first: NDArray[np.bool_]
    batch: NDArray[np.int64]
    floor_ns: NDArray[np.float64]
    candidate_window: int
    reference_window: int
    tick_ns: float
    clock: str = "device"
    own: OwnClock | None = None
    probe_ns: NDArray[np.float64] = field(default_factory=_none)
    long_ns: NDArray[np.float64] = field(default_factory=_none)
    long_base: int = 0
    reference_long_ns: NDArray[np.float64] = field(default_factory=_none)
    reference_long_base: int = 0
    passes_per_command_buffer: int = 0
    reference_passes_per_command_buffer: float = 0.0
    probe_after_candidate_ns: NDArray[np.float64] = field(default_factory=_none)
    probe_after_reference_ns: NDArray[np.float64] = field(default_factory=_none)

    @classmethod
    def join(
        cls, calls: Sequence[Samples], *, batches: Sequence[int], own_clock: bool
    ) -> SampleSet:
        """Concatenate the samples of several calls of the core's sampling loop.

        Times are of the device's clock if it timed every window of both sides, else of the clock
        that the core chose. `batches` has the batch of each call.
        """
        own = OwnClock.join(calls) if own_clock else None
        by_own = own is not None and (calls[-1].clock == "device" or own.covers_both)

        def concatenate(arrays: Iterable[NDArray[Any]], dtype: type) -> NDArray[Any]:
            return np.concatenate([np.asarray(array, dtype=dtype) for array in arrays])

        return cls(
            candidate_ns=concatenate(
                (call.device_ns if by_own else call.candidate_ns for call in calls), np.float64
            ),
            reference_ns=concatenate(
                (call.reference_device_ns if by_own else call.reference_ns for call in calls),
                np.float64,
            ),
            candidate_first=concatenate((call.candidate_first for call in calls), np.bool_),
            batch=np.repeat(
                np.array(batches, dtype=np.int64), [len(call.candidate_ns) for call in calls]
            ),
            floor_ns=concatenate(
                (call.floor_device_ns if by_own else call.floor_ns for call in calls), np.float64
            ),
            candidate_window=int(calls[-1].candidate_window),
            reference_window=int(calls[-1].reference_window),
            tick_ns=float(calls[-1].tick_ns),
            clock="device" if by_own else calls[-1].clock,
            own=own,
            probe_ns=concatenate((call.probe_ns for call in calls), np.float64),
            passes_per_command_buffer=int(calls[-1].passes_per_command_buffer),
            reference_passes_per_command_buffer=float(
                calls[-1].reference_passes_per_command_buffer
            ),
        )

    def add_long_windows(self, call: Samples) -> SampleSet:
        """Return these samples with the long windows of a call, by the same clock."""
        by_own = self.own is not None and self.clock == "device"
        ours = call.long_device_ns if by_own else call.long_ns
        theirs = call.reference_long_device_ns if by_own else call.reference_long_ns
        return replace(
            self,
            long_ns=np.asarray(ours, dtype=np.float64),
            long_base=int(call.candidate_window),
            reference_long_ns=np.asarray(theirs, dtype=np.float64),
            reference_long_base=int(call.reference_window),
            probe_after_candidate_ns=np.asarray(call.probe_after_candidate_ns, dtype=np.float64),
            probe_after_reference_ns=np.asarray(call.probe_after_reference_ns, dtype=np.float64),
        )


# The result of a measurement.

# A kernel within this factor of an empty kernel's time measures the launch, not the work.
LAUNCH_BOUND = 1.3


class StopReason(str, Enum):
    """The reason why sampling ended."""

    SETTLED = "verdict settled"
    PRECISE = "precise"
    TIME = "time limit"
    PAIRS = "pair limit"
    THROTTLED = "throttled"


@dataclass(frozen=True, slots=True)
class FormTime:
    """One form of the reference, with the time of one pass in ns.

    `compared` marks the form that the ratio is against. `time_ns` is None if the form did not run,
    is wrong or was not timed; `fault` says why. It is empty for an only form.
    """

    name: str
    time_ns: Interval | None
    compared: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ByWall:
    """The same pairs by wall time, where the verdict is of GPU time.

    Wall time includes submission and the host's work, as a program sees it. `ratio` is reference /
    candidate.
    """

    candidate_ns: Interval
    reference_ns: Interval
    ratio: Interval


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times of one pass of a kernel and of its reference, with their statistics.

    All times are nanoseconds of a single pass. They are GPU times if the GPU's clock timed every
    window of both sides; `by_wall` then has the wall times. Otherwise they are wall times.

    Attributes
    ----------
    ratio
        Reference / candidate: above 1 the candidate is faster. None without a reference.
    verdict
        Verdict of the ratio; without a reference None or THROTTLED.
    effective_pairs
        Number of independent pairs with the same information; without a reference, of samples.
    floor_ns
        A pass of empty kernels.
    gpu_ns, gpu_floor_ns
        The candidate and a pass of empty kernels by the GPU's clock; None without such a clock.
    judgement
        Source of `ratio` and `verdict`, with the reasons of INCONCLUSIVE and THROTTLED. None
        without a reference, and for a measurement that was not stored completely.
    slope, reference_slope
        Fixed costs of the windows of each side.
    drift, modes
        Drift and modes of the logarithms of the candidate's times.
    forms
        All forms of the reference, timed briefly.
    remarks
        Warnings from before and during sampling.
    """

    samples: SampleSet
    candidate_ns: Interval
    reference_ns: Interval | None
    ratio: Interval | None
    verdict: Verdict | None
    stability: float
    outliers: int
    effective_pairs: float
    floor_ns: float
    stopped: StopReason
    gpu_ns: Interval | None = None
    gpu_floor_ns: float | None = None
    by_wall: ByWall | None = None
    judgement: Judgement | None = None
    mode: TimingMode = TimingMode.WARM
    steadiness: Steadiness = field(default_factory=Steadiness)
    slope: Slope | None = None
    reference_slope: Slope | None = None
    drift: Drift | None = None
    modes: tuple[UsualTime, ...] = ()
    forms: tuple[FormTime, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def work_ns(self) -> Interval:
        """The time of the work, by the most exact clock of the device."""
        return self.candidate_ns if self.gpu_ns is None else self.gpu_ns

    @property
    def clock(self) -> str | None:
        """The clock of the ratio, "GPU time" or "wall time"; None if the device has only one."""
        if self.samples.own is None:
            return None
        return "GPU time" if self.samples.clock == "device" else "wall time"

    @property
    def gpu_ratio(self) -> Interval | None:
        """The ratio of GPU times; None if the GPU's clock did not time all windows."""
        return self.ratio if self.clock == "GPU time" else None

    @property
    def wall_ratio(self) -> Interval | None:
        """The ratio of wall times; None if they were not taken, or are the only times."""
        if self.by_wall is not None:
            return self.by_wall.ratio
        return self.ratio if self.clock == "wall time" else None

    @property
    def work_floor_ns(self) -> float:
        """A pass of empty kernels on the clock of `work_ns`; 0 if none was timed."""
        return self.floor_ns if self.gpu_floor_ns is None else self.gpu_floor_ns

    @property
    def clock_ratio(self) -> Interval | None:
        """The GPU's clock after the candidate's windows / after the reference's; None unprobed."""
        samples = self.samples
        return clock_ratio(samples.probe_after_candidate_ns, samples.probe_after_reference_ns)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Warnings about the times, as sentences."""
        clocks = self.clock_ratio
        found = (
            self.samples.own.doubt if self.samples.own is not None else None,
            warn_of_unequal_clocks(clocks) if clocks is not None else None,
            self.slope.doubt("the kernel's") if self.slope is not None else None,
            self.reference_slope.doubt("MLX's") if self.reference_slope is not None else None,
        )
        return (*self.remarks, *(doubt for doubt in found if doubt is not None))

    @property
    def reference_name(self) -> str | None:
        """The name of the form that the ratio is against, if several forms were timed."""
        return next((form.name for form in self.forms if form.compared), None)

    @property
    def pairs(self) -> int:
        """The number of timed windows of the candidate."""
        return int(self.samples.candidate_ns.size)

    @property
    def launch_bound(self) -> bool:
        """Whether an empty kernel takes nearly as long."""
        return self.work_ns.value < LAUNCH_BOUND * self.work_floor_ns

    @property
    def launch_share(self) -> float | None:
        """The part of the candidate's GPU time that empty kernels take; None without GPU times."""
        if self.gpu_ns is None or self.gpu_floor_ns is None:
            return None
        return min(1.0, self.gpu_floor_ns / self.gpu_ns.value)
