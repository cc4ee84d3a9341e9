"""The interval to print with an estimate.

It is the interval that is stored with the result. If that has no ends, and the samples are
available, the range of block medians is printed in braces instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metalbench.report import numbers
from metalbench.stats import BlockRange, Interval, block_range

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metalbench.measure import Measurement
    from metalbench.result import Result


def kernel_time(measured: Measurement) -> Interval:
    """Return the time of a pass of the kernel in ns."""
    return _choose_interval(measured.candidate_ns, measured.samples.candidate_ns)


def reference_time(measured: Measurement) -> Interval | None:
    """Return the time of a pass of MLX in ns; None if it was not timed."""
    if measured.reference_ns is None:
        return None
    return _choose_interval(measured.reference_ns, measured.samples.reference_ns)


def gpu_time(measured: Measurement) -> Interval | None:
    """Return the time of a pass on the GPU's clock in ns; None without such a clock."""
    if measured.gpu_ns is None or measured.samples.own is None:
        return measured.gpu_ns
    return _choose_interval(measured.gpu_ns, measured.samples.own.device_ns)


def ratio(measured: Measurement) -> Interval | None:
    """Return the time of MLX / time of the kernel; None if MLX was not timed."""
    if measured.ratio is None or measured.ratio.is_bounded or measured.judgement is None:
        return measured.ratio
    return measured.judgement.blocks or measured.ratio


def explain_ends(results: Sequence[Result]) -> Iterator[str]:
    """Yield the meanings of the special interval notations in the results."""
    timed = [result.measurement for result in results if result.measurement is not None]
    of = (kernel_time, reference_time, gpu_time, ratio)
    intervals = [each(measured) for measured in timed for each in of]
    if any(isinstance(each, BlockRange) for each in intervals):
        yield numbers.BLOCKS_MEAN
    ends = [each.useful_ends for each in intervals if each is not None]
    if (None, None) in ends:
        yield numbers.UNCARRIED_MEANS
    if any((low is None) != (high is None) for low, high in ends):
        yield numbers.ONE_SIDED_MEANS


def _choose_interval(interval: Interval, samples: NDArray[np.float64]) -> Interval:
    return interval if interval.is_bounded else block_range(samples) or interval
