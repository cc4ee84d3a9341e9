"""Every kernel in a process of its own: what it does there reaches no other kernel."""

from metalbench.isolation.limits import Limits
from metalbench.isolation.workers import Workers, network_of_workers

__all__ = ["Limits", "Workers", "network_of_workers"]
