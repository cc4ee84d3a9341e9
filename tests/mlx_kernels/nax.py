"""Families of MLX's kernels for the matrix units of M5, with tensors of Metal 4."""

from __future__ import annotations

from typing import Any

from mlx_kernels.family import FLOATS, Family, Instance, of

_ALIGNED = {200: True, 201: True, 202: True}
_PRODUCT = {10: False, 100: False, 110: False} | _ALIGNED
_GEMM = ("utils.h", "steel/gemm/gemm_nax.h")
_TURNS = tuple((left, right) for left in (False, True) for right in (False, True))


def _family(name: str, headers: tuple[str, ...], *instances: Instance, **options: Any) -> Family:
    return Family(name, headers, instances, standard="metal4.0", **options)


GEMM = _family(
    "nax_gemm",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_fused_nax.h"),
    *(of("gemm", kind, 64, 64, 64, 2, 2, *turns, "float") for kind in FLOATS for turns in _TURNS),
    of("gemm", "half", 64, 128, 64, 2, 4, False, True, "float"),
    constants=_PRODUCT,
)
SPLIT_K = _family(
    "nax_splitk",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_splitk_nax.h"),
    *(of("gemm_splitk_nax", kind, 64, 64, 64, 2, 2, False, True, "float") for kind in FLOATS),
    constants={200: True, 201: True},
)
GATHER = _family(
    "nax_gather",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_gather_nax.h"),
    of("gather_mm_rhs_nax", "half", 64, 64, 64, 2, 2, False, False, "float"),
    of("gather_mm_rhs_nax", "bfloat16_t", 32, 64, 64, 1, 2, False, True, "float"),
    constants=_ALIGNED,
)
SEGMENTED = _family(
    "nax_segmented",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_segmented_nax.h"),
    of("segmented_mm_nax", "half", 64, 64, 64, 2, 2, False, False, "float"),
    of("segmented_mm_nax", "float", 64, 64, 64, 2, 2, True, True, "float"),
    constants={199: True, 200: True, 201: True},
)
THIN = _family(
    "nax_thin",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_thin_nax.h"),
    *(of("gemm_thin_nax", kind, 1, 2, 1, 4, 2, True) for kind in ("half", "bfloat16_t")),
    of("gemm_thin_nax", "float", 1, 2, 1, 4, 2, False),
    constants={100: False, 110: False} | _ALIGNED,
)
ATTENTION = _family(
    "nax_attention",
    ("utils.h", "steel/attn/kernels/steel_attention_nax.h"),
    of("attention_nax", "half", 64, 32, 64, 64, 4, 1, "half", "float"),
    of("attention_nax", "bfloat16_t", 64, 32, 128, 128, 4, 1, "bool", "float"),
    of("attention_nax", "float", 64, 32, 64, 64, 4, 1, "bool", "float"),
    of("attention_nax_dsplit", "half", 64, 32, 256, 4, 2, "half", "float"),
    constants={200: True, 201: True, 300: False, 301: False, 302: False, 303: False},
)
_QUANTIZED = (
    *("utils.h", "steel/gemm/gemm.h", "quantized_utils.h"),
    *("steel/gemm/nax.h", "steel/gemm/loader.h"),
)
QUANTIZED = _family(
    "nax_quantized",
    (*_QUANTIZED, "quantized_nax.h"),
    of("affine_qmm_t_nax", "half", 64, 4, True, False),
    of("affine_qmm_t_nax", "bfloat16_t", 64, 6, False, False),
    of("affine_qmm_n_nax", "float", 64, 4, False),
    of("affine_gather_qmm_t_nax", "half", 64, 8, True),
    of("affine_gather_qmm_n_nax", "half", 64, 4),
    of("affine_gather_qmm_rhs_nax", "half", 64, 4, 64, 64, 64, 2, 2, True),
    constants=_ALIGNED,
)
# `fp_qmm_n_nax` calls a function with one argument too many: MLX 0.32.4 does not instantiate it.
FP_QUANTIZED = _family(
    "nax_fp_quantized",
    (*_QUANTIZED, "fp_quantized_nax.h"),
    of("fp_qmm_t_nax", "half", 32, 4, True, False),
    of("fp_qmm_t_nax", "bfloat16_t", 16, 4, True, False),
    of("fp_gather_qmm_t_nax", "half", 32, 4, True),
    constants=_ALIGNED,
)
GATED_DELTA = _family(
    "nax_gated_delta",
    ("utils.h", "gated_delta_update_nax.h"),
    of("gated_delta_fused_nax", "half", 64, 64, 2, 2, 16, 4),
    constants={200: False},
)
# The other kernels of this header have more products than a fiber's stack has memory for.
GATED_DELTA_VJP = _family(
    "nax_gated_delta_vjp",
    ("utils.h", "gated_delta_update_nax_vjp.h"),
    of("gated_delta_dgamma_to_dg", "float", 16),
)

NAX = (
    *(GEMM, SPLIT_K, GATHER, SEGMENTED, THIN, ATTENTION, QUANTIZED, FP_QUANTIZED),
    *(GATED_DELTA, GATED_DELTA_VJP),
)
