"""What KernelBench's problems are declared with."""

from metalbench.suites.kernelbench.problems.declaration import PROBLEMS, Problem, problem
from metalbench.suites.kernelbench.problems.layers import Layers
from metalbench.suites.kernelbench.problems.parameters import Initial, drawn, even, rand

__all__ = ["PROBLEMS", "Initial", "Layers", "Problem", "drawn", "even", "problem", "rand"]
