"""Test and time kernels on any machine.

`check_kernel` and `assert_kernel` take MSL, or Python code over `mx.fast.metal_kernel`; `time`
takes MSL.
The same functions are fixtures of pytest (`metalbench.testing.pytest_plugin`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.testing.assertion import Checked, assert_kernel, check_kernel
    from metalbench.testing.timing import Timing, time

__all__ = ["Checked", "Timing", "assert_kernel", "check_kernel", "time"]

# pytest imports its plugin at every start: the modules are imported on first use.
_MODULES = {
    "Checked": "assertion",
    "Timing": "timing",
    "assert_kernel": "assertion",
    "check_kernel": "assertion",
    "time": "timing",
}

if not TYPE_CHECKING:  # type checkers see the imports above and report unknown names

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f"{__name__}.{_MODULES[name]}")
        found = globals()[name] = getattr(module, name)
        return found
