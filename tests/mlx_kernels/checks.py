"""All checks of families of MLX's kernels."""

from __future__ import annotations

from mlx_kernels import (
    check_attention,
    check_convolution,
    check_elementwise,
    check_indexing,
    check_nax,
    check_products,
    check_quantized,
    check_rows,
    check_transforms,
)
from mlx_kernels.bench import CHECKS

__all__ = [
    "CHECKS",
    "check_attention",
    "check_convolution",
    "check_elementwise",
    "check_indexing",
    "check_nax",
    "check_products",
    "check_quantized",
    "check_rows",
    "check_transforms",
]
