"""From operations to kernels in Metal's language."""

from pathlib import Path

from metalbench.hlo.emission import complex, factorizations, matrices
from metalbench.hlo.emission.attention import attention_kernel
from metalbench.hlo.emission.kernel import (
    EMITTERS,
    HEADER,
    THREADS,
    Kernel,
    map_kernel,
    stage_kernel,
)
from metalbench.hlo.emission.matrices import matrix_kernel
from metalbench.hlo.emission.row_products import row_product_kernel
from metalbench.hlo.emission.rows import rows_kernel
from metalbench.hlo.emission.tiles import tile_of
from metalbench.hlo.emission.whole import WHOLE

# Where stablehlo.h lies, which all kernels include.
INCLUDE = Path(__file__).parent

__all__ = [
    "EMITTERS",
    "HEADER",
    "INCLUDE",
    "THREADS",
    "WHOLE",
    "Kernel",
    "attention_kernel",
    "complex",
    "factorizations",
    "map_kernel",
    "matrices",
    "matrix_kernel",
    "row_product_kernel",
    "rows_kernel",
    "stage_kernel",
    "tile_of",
]
