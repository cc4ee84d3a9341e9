"""Generate kernels in the Metal Shading Language (MSL) from operations."""

from pathlib import Path

from metalbench.hlo.codegen.elementwise import COMPLEX_HEADER, COMPLEX_TYPE
from metalbench.hlo.codegen.factorizations import (
    FACTORIZATION_CALLS,
    FACTORIZATION_HEADER,
    FACTORIZATIONS,
)
from metalbench.hlo.codegen.kernel import (
    EMITTERS,
    HEADER,
    THREADS,
    GeneratedKernel,
    build_map_kernel,
    build_stage_kernel,
    build_update_kernel,
    find_register_tile,
)
from metalbench.hlo.codegen.matrices import (
    MATRIX_CALL,
    MATRIX_HEADER,
    build_matrix_kernel,
    build_row_product_kernel,
)
from metalbench.hlo.codegen.rows import (
    build_attention_kernel,
    build_row_sums_kernel,
    build_rows_kernel,
    find_row_product,
)
from metalbench.hlo.codegen.whole_tensors import STAGED, STAGED_BY_PASSES

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
    "STAGED_BY_PASSES",
    "THREADS",
    "GeneratedKernel",
    "build_attention_kernel",
    "build_map_kernel",
    "build_matrix_kernel",
    "build_row_product_kernel",
    "build_row_sums_kernel",
    "build_rows_kernel",
    "build_stage_kernel",
    "build_update_kernel",
    "find_register_tile",
    "find_row_product",
]
