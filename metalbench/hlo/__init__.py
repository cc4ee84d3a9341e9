"""Compile StableHLO to Metal kernels: `compile(program)` returns a callable on arrays."""

from __future__ import annotations

from pkgutil import extend_path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.hlo.program import Program, compile

# In a checkout this folder is found first; the compiled plugin is in site-packages.
__path__ = extend_path(__path__, __name__)

__all__ = ["Program", "compile"]

if not TYPE_CHECKING:
    # Import lazily: JAX imports every installed plugin in each program.
    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from metalbench.hlo import program

        found = globals()[name] = getattr(program, name)
        return found
