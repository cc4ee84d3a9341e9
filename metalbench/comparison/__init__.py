"""Results against earlier results, and a kernel against its own past."""

from metalbench.comparison.compare import Compared, Comparison, compare
from metalbench.comparison.result_set import ResultSet, Row

__all__ = ["Compared", "Comparison", "ResultSet", "Row", "compare"]
