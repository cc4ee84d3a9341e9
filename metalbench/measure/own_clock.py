"""Times by the device's own clock and by wall time, for devices that have both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from metalbench._core import Samples

# Clocks of one GPU that differ by more than this fraction measure different things.
AGREEMENT = 0.05


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
