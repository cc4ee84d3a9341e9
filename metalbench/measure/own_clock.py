"""Times of a device that has a clock of its own, beside those that the ratio rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from metalbench._core import Samples

# Two clocks of one GPU that differ by more measure different things.
AGREEMENT = 0.05


def _none() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class OwnClock:
    """Both sides' windows by both clocks, the GPU's and the wall's, in the order of the samples.

    All are float64 nanoseconds, shape (pairs,). Of one pass of the candidate: `device_ns` (start
    and end of command buffers), `counter_ns` (counters at the ends of encoders; NaN where there are
    none) and `wall_ns`; of its whole window `encode_ns`, the host's own work. Of one pass of the
    reference, empty without one: `reference_device_ns`, how long the GPU was busy with it, NaN
    where not all of its command buffers told their times, and `reference_wall_ns`, empty too where
    windows wait behind each other, so that wall times of neither side are whole. `floor_ns`, shape
    (any,), are passes of empty kernels by the GPU's clock.
    """

    device_ns: NDArray[np.float64]
    counter_ns: NDArray[np.float64]
    wall_ns: NDArray[np.float64]
    encode_ns: NDArray[np.float64]
    reference_device_ns: NDArray[np.float64] = field(default_factory=_none)
    reference_wall_ns: NDArray[np.float64] = field(default_factory=_none)
    floor_ns: NDArray[np.float64] = field(default_factory=_none)

    @classmethod
    def join(cls, looks: Sequence[Samples]) -> OwnClock:
        """Concatenate the times of one look after the other."""

        def joined(times: Callable[[Samples], NDArray[np.float64]]) -> NDArray[np.float64]:
            return np.concatenate([np.asarray(times(look), dtype=np.float64) for look in looks])

        return cls(
            device_ns=joined(lambda look: look.device_ns),
            counter_ns=joined(lambda look: look.counter_ns),
            wall_ns=joined(lambda look: look.wall_ns),
            encode_ns=joined(lambda look: look.encode_ns),
            reference_device_ns=joined(lambda look: look.reference_device_ns),
            reference_wall_ns=joined(
                lambda look: look.reference_wall_ns if look.clock == "wall" else _none()
            ),
            floor_ns=joined(lambda look: look.floor_device_ns),
        )

    @property
    def tells_both(self) -> bool:
        """Whether the GPU's clock told every window of both sides."""
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
        """What is to be said if the two clocks disagree."""
        deviation = self.counter_deviation
        if deviation is None or abs(deviation) <= AGREEMENT:
            return None
        return (
            f"the GPU's two clocks disagree: by counters a pass takes {abs(100 * deviation):.0f} % "
            f"{'less' if deviation < 0 else 'more'} than by its command buffers; the difference is "
            "waiting, or other programs on the GPU: close them and run again"
        )
