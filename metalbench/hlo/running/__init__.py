"""Programs on a device: the plan of their steps, and the executable that follows it."""

from metalbench.hlo.running.executable import Executable
from metalbench.hlo.running.plan import LEVELS, Plan, plan, source

__all__ = ["LEVELS", "Executable", "Plan", "plan", "source"]
