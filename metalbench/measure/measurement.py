"""What came out of sampling."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from metalbench.measure.plan import Mode
from metalbench.measure.samples import SampleSet
from metalbench.measure.slope import Slope
from metalbench.measure.steadiness import Steadiness, clock_ratio, unequal_clocks
from metalbench.stats import DistributionMode as UsualTime
from metalbench.stats import Drift, Interval, Judgement, Verdict

# A kernel this close to the time of an empty one measures the launch, not the work.
LAUNCH_BOUND = 1.3


class Stopped(str, Enum):
    """Why sampling ended."""

    SETTLED = "verdict settled"
    PRECISE = "precise"
    TIME = "time limit"
    PAIRS = "pair limit"
    THROTTLED = "throttled"


@dataclass(frozen=True, slots=True)
class FormTime:
    """One form of the reference: its name, the time of one pass in ns, and how it was used.

    `compared` says that the ratio is against this form. `time_ns` is None if it did not run, is
    wrong or was not timed; `fault` says why, and is empty if it is the only one.
    """

    name: str
    time_ns: Interval | None
    compared: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ByWall:
    """The same pairs by wall time, where the verdict is of the GPU's: what a program sees.

    That is with the way to the GPU and back and the host's own work. `ratio` is as a measurement's.
    """

    candidate_ns: Interval
    reference_ns: Interval
    ratio: Interval


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times of one pass of a kernel and of its reference, with what they rest on.

    All times are nanoseconds of a single pass. `ratio` is reference / candidate: above 1 the
    candidate is faster. Without a reference `reference_ns` and `ratio` are None, and `verdict` too
    unless it is THROTTLED.
    `gpu_ns` is the candidate's time on the GPU's own clock and `gpu_floor_ns` that of a pass of
    empty kernels, None on devices that have none. All other times, and so the ratio and the
    verdict, are of that clock too where it told every window of both sides, and `by_wall` has
    them by the wall's beside it; else they are wall times. `judgement` is what `ratio` and
    `verdict` are taken from, with the reasons of an INCONCLUSIVE or THROTTLED one; None without a
    reference, or of a measurement that was not kept whole. `drift` and `modes` (of logarithms) are
    the candidate's own; `effective_pairs` tells how many independent pairs the ratio's would be
    worth, or the candidate's samples without a reference. `slope` and `reference_slope` are of the
    two sides' long windows. `forms` are all forms of the reference, timed briefly. `remarks` are
    doubts that arose around the sampling.
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
    stopped: Stopped
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
        """The time that the work itself took, as exactly as the device can tell."""
        return self.candidate_ns if self.gpu_ns is None else self.gpu_ns

    @property
    def clock(self) -> str | None:
        """What the ratio's times are of, "GPU time" or "wall time"; None where there is but one."""
        if self.samples.own is None:
            return None
        return "GPU time" if self.samples.clock == "device" else "wall time"

    @property
    def gpu_ratio(self) -> Interval | None:
        """The ratio of GPU times; None where the GPU's clock did not tell both sides' windows."""
        return self.ratio if self.clock == "GPU time" else None

    @property
    def wall_ratio(self) -> Interval | None:
        """The ratio of wall times; None where they were not taken, and of one clock alone."""
        if self.by_wall is not None:
            return self.by_wall.ratio
        return self.ratio if self.clock == "wall time" else None

    @property
    def work_floor_ns(self) -> float:
        """A pass of empty kernels on the clock of `work_ns`; 0 where none was timed."""
        return self.floor_ns if self.gpu_floor_ns is None else self.gpu_floor_ns

    @property
    def clock_ratio(self) -> Interval | None:
        """The GPU's clock after the candidate's windows / after the reference's; None unprobed."""
        samples = self.samples
        return clock_ratio(samples.probe_after_candidate_ns, samples.probe_after_reference_ns)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What makes the times doubtful, as sentences."""
        clocks = self.clock_ratio
        found = (
            self.samples.own.doubt if self.samples.own is not None else None,
            unequal_clocks(clocks) if clocks is not None else None,
            self.slope.doubt("the kernel's") if self.slope is not None else None,
            self.reference_slope.doubt("MLX's") if self.reference_slope is not None else None,
        )
        return (*self.remarks, *(doubt for doubt in found if doubt is not None))

    @property
    def reference_name(self) -> str | None:
        """Name of the form of the reference that the ratio is against, where several were timed."""
        return next((form.name for form in self.forms if form.compared), None)

    @property
    def pairs(self) -> int:
        """How many windows of the candidate were timed."""
        return int(self.samples.candidate_ns.size)

    @property
    def launch_bound(self) -> bool:
        """Whether a kernel that does nothing takes nearly as long, as the device tells it."""
        return self.work_ns.value < LAUNCH_BOUND * self.work_floor_ns

    @property
    def launch_share(self) -> float | None:
        """What empty kernels take of the candidate's GPU time; None without such a clock."""
        if self.gpu_ns is None or self.gpu_floor_ns is None:
            return None
        return min(1.0, self.gpu_floor_ns / self.gpu_ns.value)
