"""Everything that checked builds find in a kernel: where, who, how often."""

from metalbench.checking.check import check
from metalbench.checking.finding import Finding, Findings, Frame
from metalbench.checking.kinds import KINDS, TOOLS, Kind

__all__ = ["KINDS", "TOOLS", "Finding", "Findings", "Frame", "Kind", "check"]
