"""Kernels: their header lines, the kernel library, and dispatches bound to a workload."""

from metalbench.kernel.directives import Dispatch
from metalbench.kernel.header import Kernel, parse, read

__all__ = ["Dispatch", "Kernel", "parse", "read"]
