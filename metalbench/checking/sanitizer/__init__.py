"""Check kernels on an NVIDIA GPU with compute-sanitizer of NVIDIA's CUDA toolkit."""

from metalbench.checking.sanitizer.check import check_sanitized, parse_sanitizer_tools

__all__ = ["check_sanitized", "parse_sanitizer_tools"]
