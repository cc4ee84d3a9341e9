"""Benchmark, check and improve Metal compute kernels against MLX, on a Mac or anywhere else."""

from __future__ import annotations

from pkgutil import extend_path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalbench.custom_kernel import metal_kernel, patch_mlx, patched_mlx

# From within a checkout this folder is found first; what was compiled lies in site-packages.
__path__ = extend_path(__path__, __name__)

__all__ = ["MetalBenchError", "__version__", "metal_kernel", "patch_mlx", "patched_mlx"]


def __getattr__(name: str) -> Any:
    # These cost more than everything else in this file: they are looked up when asked for.
    if name == "__version__":
        from importlib.metadata import version

        return version("metalbench")
    if name == "MetalBenchError":
        from metalbench._core import Error

        return Error
    if name in {"metal_kernel", "patch_mlx", "patched_mlx"}:
        from metalbench import custom_kernel

        return getattr(custom_kernel, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
