"""Profiles of kernels: exact counts, and an estimate of the time on a GPU."""

from metalbench.profiling.counted_run import Profile, profile, profile_kernel

__all__ = ["Profile", "profile", "profile_kernel"]
