"""All families of MLX's kernels that its wheel has headers of."""

from __future__ import annotations

from mlx_kernels.elementwise import ELEMENTWISE
from mlx_kernels.family import Family
from mlx_kernels.matrices import MATRICES
from mlx_kernels.nax import NAX
from mlx_kernels.rows import ROWS

FAMILIES: tuple[Family, ...] = (*ELEMENTWISE, *ROWS, *MATRICES, *NAX)
