"""Compile StableHLO to Metal kernels: `compile(program)` returns a callable on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.hlo.program import Program, compile

__all__ = ["Program", "compile"]

if not TYPE_CHECKING:
    # Import lazily: JAX imports every installed plugin in each program.
    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from metalbench.hlo import program

        found = globals()[name] = getattr(program, name)
        return found
