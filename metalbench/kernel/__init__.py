"""Who solves a task: kernels and their header lines, the library of them, and their binding."""

from metalbench.kernel.directives import Dispatch
from metalbench.kernel.header import Kernel, parse, read

__all__ = ["Dispatch", "Kernel", "parse", "read"]
