"""Checked runs of kernels: findings with their location, threads and count."""

from metalbench.checking.check import check
from metalbench.checking.finding import Finding, Findings, Frame
from metalbench.checking.kinds import KINDS, TOOLS, Kind

__all__ = ["KINDS", "TOOLS", "Finding", "Findings", "Frame", "Kind", "check"]
