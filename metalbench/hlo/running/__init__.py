"""Programs on a device: the plan of their steps, and the executable that follows it."""

from metalbench.hlo.running.executable import Executable
from metalbench.hlo.running.plan import CONTROL_FLOW, LEVELS, Plan, plan, source

__all__ = ["CONTROL_FLOW", "LEVELS", "Executable", "Plan", "plan", "source"]
