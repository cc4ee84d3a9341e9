"""Benchmark, check and improve Metal compute kernels against MLX, on a Mac or anywhere else.

    metalbench.check("softmax")          all that a checked build finds; or a FILE.metal
    metalbench.check_kernel(kernel, inputs, expected, grid=..., threadgroup=...)
    metalbench.assert_kernel(...)        the same, and raises AssertionError
    metalbench.time(kernel, inputs, outputs, grid=..., threadgroup=...)
    metalbench.metal_kernel(...)         `mx.fast.metal_kernel` on any machine
    metalbench.patch_mlx()               the same for code that calls MLX's own
    metalbench.profile(kernel)           what a kernel does, counted, line by line
    metalbench._core                     devices, buffers, dispatches, raw times

Tasks of your own: `from metalbench.task import task, normal, output`.
"""

from __future__ import annotations

from pkgutil import extend_path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench._core import Error as MetalBenchError
    from metalbench.checking.check import check
    from metalbench.mlx import metal_kernel, patch_mlx, patched_mlx
    from metalbench.profiling import Profile, profile
    from metalbench.testing import Checked, Timing, assert_kernel, check_kernel, time

    __version__: str

# In a checkout this folder is found first; the compiled extension is in site-packages.
__path__ = extend_path(__path__, __name__)

__all__ = [
    "Checked",
    "MetalBenchError",
    "Profile",
    "Timing",
    "__version__",
    "assert_kernel",
    "check",
    "check_kernel",
    "metal_kernel",
    "patch_mlx",
    "patched_mlx",
    "profile",
    "time",
]

# Modules of the public names. They are imported on first use: importing all of them is slow.
_PLACES = {
    "MetalBenchError": ("metalbench._core", "Error"),
    **{name: ("metalbench.mlx", name) for name in ("metal_kernel", "patch_mlx", "patched_mlx")},
    **{name: ("metalbench.profiling", name) for name in ("Profile", "profile")},
    **{
        name: ("metalbench.testing", name)
        for name in ("Checked", "Timing", "assert_kernel", "check_kernel", "time")
    },
    "check": ("metalbench.checking.check", "check"),
}

if not TYPE_CHECKING:  # type checkers see the imports above and report unknown names

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("metalbench")
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, attribute = _PLACES[name]
        found = globals()[name] = getattr(import_module(module), attribute)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
