"""A drop-in replacement of `mx.fast.metal_kernel` on any machine.

The arguments, the generated kernel and the names that a source finds are those of MLX 0.32.
"""

from __future__ import annotations

from metalbench.custom_kernel.declaration import metal_kernel
from metalbench.custom_kernel.kernel import CustomKernel
from metalbench.custom_kernel.mlx_kernel import MLXKernel
from metalbench.custom_kernel.patch import patch_mlx, patched_mlx

__all__ = ["CustomKernel", "MLXKernel", "metal_kernel", "patch_mlx", "patched_mlx"]
