"""The result of a measurement."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from metalbench.measure.plan import Mode
from metalbench.measure.samples import SampleSet
from metalbench.measure.slope import Slope
from metalbench.measure.steadiness import Steadiness, clock_ratio, warn_of_unequal_clocks
from metalbench.stats import DistributionMode as UsualTime
from metalbench.stats import Drift, Interval, Judgement, Verdict

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
    mode: Mode = Mode.WARM
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
