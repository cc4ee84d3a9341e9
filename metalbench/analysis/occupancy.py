"""The occupancy of a device's threadgroups by a dispatch."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The geometry of one dispatch and the limits of the device (counts, memory in bytes)."""

    pipeline: str
    threadgroups: tuple[int, int, int]
    threads: tuple[int, int, int]
    max_threads: int
    threadgroup_bytes: int
    max_threadgroup_bytes: int
    simd_width: int

    @property
    def threads_per_threadgroup(self) -> int:
        """The threads of one full threadgroup."""
        return math.prod(self.threads)

    @property
    def simdgroups(self) -> int:
        """The SIMD-groups of one full threadgroup."""
        return -(-self.threads_per_threadgroup // self.simd_width)

    @property
    def idle_lanes(self) -> int:
        """The unused lanes of the last SIMD-group."""
        return self.simdgroups * self.simd_width - self.threads_per_threadgroup
