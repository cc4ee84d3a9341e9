"""Kernels on an NVIDIA GPU under compute-sanitizer, which is of NVIDIA's toolkit."""

from metalbench.checking.sanitizer.check import check_sanitized, sanitizer_tools

__all__ = ["check_sanitized", "sanitizer_tools"]
