"""How a dispatch fills a device's threadgroups."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Occupancy:
    """One dispatch: its geometry against the device's limits (all counts, memory in bytes)."""

    pipeline: str
    threadgroups: tuple[int, int, int]
    threads: tuple[int, int, int]
    max_threads: int
    threadgroup_bytes: int
    max_threadgroup_bytes: int
    simd_width: int

    @property
    def threads_per_threadgroup(self) -> int:
        """Threads in one full threadgroup."""
        return math.prod(self.threads)

    @property
    def simdgroups(self) -> int:
        """SIMD-groups in one full threadgroup."""
        return -(-self.threads_per_threadgroup // self.simd_width)

    @property
    def idle_lanes(self) -> int:
        """Lanes of the last SIMD-group that no thread uses."""
        return self.simdgroups * self.simd_width - self.threads_per_threadgroup
