"""The raw samples of a measurement."""

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
