"""Declare the problems of KernelBench."""

from metalbench.suites.kernelbench.problems.declaration import PROBLEMS, problem
from metalbench.suites.kernelbench.problems.layers import Layers
from metalbench.suites.kernelbench.problems.parameters import Initial, drawn, even, rand
from metalbench.suites.kernelbench.problems.tracing import Problem

__all__ = ["PROBLEMS", "Initial", "Layers", "Problem", "drawn", "even", "problem", "rand"]
