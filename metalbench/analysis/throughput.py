"""Rates of arithmetic and of memory traffic."""

from __future__ import annotations

from dataclasses import dataclass

from metalbench.stats import Interval


@dataclass(frozen=True, slots=True)
class Throughput:
    """The work of one pass of a task, and its rates.

    ``flops`` and ``bytes`` are the least work of the task, not the kernel's: its declared
    arithmetic, its inputs read once and its outputs written once.
    """

    flops: float
    bytes: float
    gflops: Interval
    gbytes_per_s: Interval

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, in FLOP per byte."""
        return self.flops / self.bytes if self.bytes else float("inf")


def throughput(time_ns: Interval, flops: float, nbytes: float) -> Throughput:
    """Return GFLOP/s and GB/s (10^9 each) of a pass that takes ``time_ns``.

    FLOP per nanosecond are GFLOP per second, so no factor appears.
    """
    return Throughput(
        flops=flops,
        bytes=nbytes,
        gflops=time_ns.map(lambda time: flops / time),
        gbytes_per_s=time_ns.map(lambda time: nbytes / time),
    )
