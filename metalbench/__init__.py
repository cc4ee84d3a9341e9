"""Benchmark, check and improve Metal compute kernels against MLX, on a Mac or anywhere else."""

from __future__ import annotations

from pkgutil import extend_path
from typing import Any

# From within a checkout this folder is found first; what was compiled lies in site-packages.
__path__ = extend_path(__path__, __name__)

__all__ = ["MetalBenchError", "__version__"]


def __getattr__(name: str) -> Any:
    # Both cost more than everything else in this file: they are looked up when asked for.
    if name == "__version__":
        from importlib.metadata import version

        return version("metalbench")
    if name == "MetalBenchError":
        from metalbench._core import Error

        return Error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
