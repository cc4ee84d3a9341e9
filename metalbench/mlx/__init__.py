"""A drop-in replacement of `mx.fast.metal_kernel` on any machine.

The arguments, the generated kernel and the names that a source finds are those of MLX 0.32.
"""

from __future__ import annotations

from metalbench.mlx.kernel import CustomKernel, MLXKernel, metal_kernel
from metalbench.mlx.patch import patch_mlx, patched_mlx

__all__ = ["CustomKernel", "MLXKernel", "metal_kernel", "patch_mlx", "patched_mlx"]
