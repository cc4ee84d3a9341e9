"""Compare results with earlier results."""

from metalbench.comparison.compare import ComparedKernel, Comparison, compare
from metalbench.comparison.result_set import ComparedRow, ResultSet

__all__ = ["ComparedKernel", "ComparedRow", "Comparison", "ResultSet", "compare"]
