"""StableHLO in, Metal kernels out: `compile(program)` is a callable on arrays."""

from metalbench.hlo.program import Program, compile, graph

__all__ = ["Program", "compile", "graph"]
