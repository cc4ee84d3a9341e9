"""The search for the values of a kernel's tunables that are the fastest on a device."""

from metalbench.tuning.search import Candidate, Found, Observer, Search, tune

__all__ = ["Candidate", "Found", "Observer", "Search", "tune"]
