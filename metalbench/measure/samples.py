"""Raw samples as they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metalbench.measure.own_clock import OwnClock

if TYPE_CHECKING:
    from metalbench._core import Samples


def _none() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class SampleSet:
    """Every raw sample of a measurement, in the order in which it was taken.

    Times are float64 nanoseconds of one pass, shape (pairs,); `floor_ns` those of a pass of empty
    kernels of the same grids, `long_ns` and `reference_long_ns` of passes in windows of four times
    `long_base` and `reference_long_base` passes, `probe_ns` of probes of the clock, and
    `probe_after_candidate_ns` and `probe_after_reference_ns` of probes directly after the long
    windows of a side, shape (any,). A window is how many passes one sample averages over. A command
    buffer of the candidate has at most `passes_per_command_buffer`, one of the reference
    `reference_passes_per_command_buffer` on average; 0 means that the device chose, or that the
    number is unknown. `clock` says what these times are of: "device", or "wall" where the device's
    own clock did not tell every window of both sides; `own` has them by both. `look` is the number
    of the look that each pair is of, from 0, int64: pairs of one look share their inputs.
    """

    candidate_ns: NDArray[np.float64]
    reference_ns: NDArray[np.float64]
    candidate_first: NDArray[np.bool_]
    look: NDArray[np.int64]
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
    def join(cls, calls: Sequence[Samples], *, looks: Sequence[int], own_clock: bool) -> SampleSet:
        """Concatenate the samples of calls of the core's loop, by the clock that both sides have.

        That is the device's own where it told every window, else the one of the core's choice.
        `looks` are the numbers of the looks that the calls belong to.
        """
        own = OwnClock.join(calls) if own_clock else None
        by_own = own is not None and (calls[-1].clock == "device" or own.tells_both)

        def joined(arrays: Iterable[NDArray[Any]], dtype: type) -> NDArray[Any]:
            return np.concatenate([np.asarray(array, dtype=dtype) for array in arrays])

        return cls(
            candidate_ns=joined(
                (call.device_ns if by_own else call.candidate_ns for call in calls), np.float64
            ),
            reference_ns=joined(
                (call.reference_device_ns if by_own else call.reference_ns for call in calls),
                np.float64,
            ),
            candidate_first=joined((call.candidate_first for call in calls), np.bool_),
            look=np.repeat(
                np.array(looks, dtype=np.int64), [len(call.candidate_ns) for call in calls]
            ),
            floor_ns=joined(
                (call.floor_device_ns if by_own else call.floor_ns for call in calls), np.float64
            ),
            candidate_window=int(calls[-1].candidate_window),
            reference_window=int(calls[-1].reference_window),
            tick_ns=float(calls[-1].tick_ns),
            clock="device" if by_own else calls[-1].clock,
            own=own,
            probe_ns=joined((call.probe_ns for call in calls), np.float64),
            passes_per_command_buffer=int(calls[-1].passes_per_command_buffer),
            reference_passes_per_command_buffer=float(
                calls[-1].reference_passes_per_command_buffer
            ),
        )

    def with_long(self, look: Samples) -> SampleSet:
        """The same with a look's long windows, by the same clock."""
        by_own = self.own is not None and self.clock == "device"
        ours = look.long_device_ns if by_own else look.long_ns
        theirs = look.reference_long_device_ns if by_own else look.reference_long_ns
        return replace(
            self,
            long_ns=np.asarray(ours, dtype=np.float64),
            long_base=int(look.candidate_window),
            reference_long_ns=np.asarray(theirs, dtype=np.float64),
            reference_long_base=int(look.reference_window),
            probe_after_candidate_ns=np.asarray(look.probe_after_candidate_ns, dtype=np.float64),
            probe_after_reference_ns=np.asarray(look.probe_after_reference_ns, dtype=np.float64),
        )
