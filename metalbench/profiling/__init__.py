"""Profiles of kernels: what they do, counted, and what that may take on a GPU, estimated."""

from metalbench.profiling.counted_run import Profile, profile, profile_kernel

__all__ = ["Profile", "profile", "profile_kernel"]
