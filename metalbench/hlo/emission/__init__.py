"""Generate kernels in the Metal Shading Language (MSL) from operations."""

from pathlib import Path

from metalbench.hlo.emission.attention import build_attention_kernel
from metalbench.hlo.emission.complex import COMPLEX_HEADER, COMPLEX_TYPE
from metalbench.hlo.emission.factorizations import (
    FACTORIZATION_CALLS,
    FACTORIZATION_HEADER,
    FACTORIZATIONS,
)
from metalbench.hlo.emission.kernel import (
    EMITTERS,
    HEADER,
    THREADS,
    GeneratedKernel,
    build_map_kernel,
    build_stage_kernel,
)
from metalbench.hlo.emission.matrices import MATRIX_CALL, MATRIX_HEADER, build_matrix_kernel
from metalbench.hlo.emission.row_products import build_row_product_kernel
from metalbench.hlo.emission.rows import build_rows_kernel
from metalbench.hlo.emission.tiles import find_register_tile
from metalbench.hlo.emission.whole import STAGED

# The folder of stablehlo.h, which all kernels include.
INCLUDE = Path(__file__).parent

__all__ = [
    "COMPLEX_HEADER",
    "COMPLEX_TYPE",
    "EMITTERS",
    "FACTORIZATIONS",
    "FACTORIZATION_CALLS",
    "FACTORIZATION_HEADER",
    "HEADER",
    "INCLUDE",
    "MATRIX_CALL",
    "MATRIX_HEADER",
    "STAGED",
    "THREADS",
    "GeneratedKernel",
    "build_attention_kernel",
    "build_map_kernel",
    "build_matrix_kernel",
    "build_row_product_kernel",
    "build_rows_kernel",
    "build_stage_kernel",
    "find_register_tile",
]
