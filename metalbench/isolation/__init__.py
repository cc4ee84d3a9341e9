"""Every kernel in a process of its own: what it does there reaches no other kernel."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.isolation.limits import Limits
    from metalbench.isolation.workers import Workers, network_of_workers

__all__ = ["Limits", "Workers", "network_of_workers"]

if not TYPE_CHECKING:  # which knows all names from above
    # An executor, which is of this package too, needs none of them.
    _PLACES = {"Limits": "limits", "Workers": "workers", "network_of_workers": "workers"}

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_PLACES[name]}")
        found = globals()[name] = getattr(module, name)
        return found
