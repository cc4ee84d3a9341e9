"""Generate kernels in the Metal Shading Language (MSL) from operations."""

from metalbench.hlo.codegen.elementwise import DOUBLE_TYPE
from metalbench.hlo.codegen.factorizations import (
    FACTORIZATIONS,
    build_cholesky_kernel,
    shares_cholesky,
)
from metalbench.hlo.codegen.kernel import (
    EMITTERS,
    THREADS,
    GeneratedKernel,
    build_map_kernel,
    build_stage_kernel,
    build_update_kernel,
    find_block,
    find_register_tile,
)
from metalbench.hlo.codegen.library import format_library
from metalbench.hlo.codegen.loops import build_loop_kernel
from metalbench.hlo.codegen.matrices import (
    MATRIX_CALL,
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

__all__ = [
    "DOUBLE_TYPE",
    "EMITTERS",
    "FACTORIZATIONS",
    "MATRIX_CALL",
    "STAGED",
    "STAGED_BY_PASSES",
    "THREADS",
    "GeneratedKernel",
    "build_attention_kernel",
    "build_cholesky_kernel",
    "build_loop_kernel",
    "build_map_kernel",
    "build_matrix_kernel",
    "build_row_product_kernel",
    "build_row_sums_kernel",
    "build_rows_kernel",
    "build_stage_kernel",
    "build_update_kernel",
    "find_block",
    "find_register_tile",
    "find_row_product",
    "format_library",
    "shares_cholesky",
]
