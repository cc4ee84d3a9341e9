"""What came out of sampling."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from metalbench.stats import Interval, Verdict

if TYPE_CHECKING:
    from metalbench.measure.sampling import SampleSet

# A kernel this close to the time of an empty one measures the launch, not the work.
LAUNCH_BOUND = 1.3


class Stopped(str, Enum):
    """Why sampling ended."""

    PRECISE = "precise"
    TIME = "time limit"
    PAIRS = "pair limit"


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times of one pass of a kernel and of its reference, with what they rest on.

    All times are nanoseconds of a single pass. `ratio` is reference / candidate: above 1 the
    candidate is faster. Without a reference `reference_ns`, `ratio` and `verdict` are None.
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

    @property
    def pairs(self) -> int:
        """How many windows of the candidate were timed."""
        return int(self.samples.candidate_ns.size)

    @property
    def launch_bound(self) -> bool:
        """Whether a kernel that does nothing takes nearly as long."""
        return self.candidate_ns.value < LAUNCH_BOUND * self.floor_ns
