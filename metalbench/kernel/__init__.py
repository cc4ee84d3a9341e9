"""Kernels: their header lines, the kernel library, and dispatches bound to a workload."""

from metalbench.kernel.header import Dispatch, Kernel, parse, read

__all__ = ["Dispatch", "Kernel", "parse", "read"]
