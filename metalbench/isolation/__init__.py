"""Run every kernel in a separate process, so that a kernel cannot affect another kernel."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.isolation.limits import Limits
    from metalbench.isolation.workers import Workers, find_network_isolation

__all__ = ["Limits", "Workers", "find_network_isolation"]

if not TYPE_CHECKING:  # which knows all names from above
    # An executor imports this package too and needs none of these names.
    _PLACES = {"Limits": "limits", "Workers": "workers", "find_network_isolation": "workers"}

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_PLACES[name]}")
        found = globals()[name] = getattr(module, name)
        return found
