"""Profiles of kernels: exact counts, and an estimate of the time on a GPU."""

from __future__ import annotations

from metalbench.profiling.profiler import Profile, profile, profile_kernel

__all__ = ["Profile", "profile", "profile_kernel"]


# Count the accesses and operations of a kernel, by dispatch and by line.
