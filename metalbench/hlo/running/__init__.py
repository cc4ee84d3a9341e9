"""Plan and run programs on a device."""

from metalbench.hlo.running.executable import Executable
from metalbench.hlo.running.plan import LEVELS, ExecutionPlan, build_plan, format_source

__all__ = ["LEVELS", "Executable", "ExecutionPlan", "build_plan", "format_source"]
