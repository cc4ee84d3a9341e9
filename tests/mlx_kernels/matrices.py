"""Families that multiply: gemv, quantized, steel gemm, attention, convolutions."""

from __future__ import annotations

from mlx_kernels.family import FLOATS, Family, of

DOT = Family("dot", ("dot.h",), tuple(of("dot_product", kind, 32, 256, 8) for kind in FLOATS))

GEMV = Family(
    "gemv",
    ("gemv.h",),
    (
        *(of("gemv", kind, 1, 8, 1, 32, 4, 4, False, False) for kind in FLOATS),
        of("gemv", "float", 4, 1, 1, 32, 4, 4, True, True),
        of("gemv", "complex64_t", 1, 1, 8, 4, 4, 4, False, False),
        *(of("gemv_t", kind, 1, 4, 8, 4, 4, 4, False, False) for kind in FLOATS),
        of("gemv_gather", "float", 4, 1, 1, 32, 1, 4),
        of("gemv_t_gather", "half", 1, 2, 8, 4, 4, 1),
        of("gemv_wide", "half", 4, 16),
        of("gemv_wide_gather", "bfloat16_t", 2, 32),
    ),
    constants={0: False, 1: False},
)
GEMV_MASKED = Family(
    "gemv_masked",
    ("utils.h", "gemv_masked.h"),
    (
        of("gemv_masked", "float", "bool", "bool", 2, 1, 4, 8, 4, 4, False),
        of("gemv_masked", "half", "nomask_t", "half", 2, 1, 2, 16, 4, 4, False),
        of("gemv_t_masked", "float", "float", "nomask_t", 1, 1, 8, 4, 4, 1, False),
        of("gemv_t_masked", "bfloat16_t", "bool", "bool", 1, 2, 8, 4, 8, 4, True),
    ),
)

_CONSTANTS = {200: True, 201: True, 202: True}
QUANTIZED = Family(
    "quantized",
    ("utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"),
    (
        *(of("affine_quantize", "float", 32, bits) for bits in (2, 3, 4, 5, 6, 8)),
        *(of("affine_dequantize", "half", 64, bits) for bits in (3, 4, 6)),
        *(of("affine_qmv_fast", kind, 64, 4, False) for kind in FLOATS),
        of("affine_qmv", "float", 32, 3, False),
        of("affine_qmv", "half", 64, 8, True),
        of("affine_qmv_quad", "float", 64, 4, 64, False),
        of("affine_qmv_wide", "half", 64, 4, 2, 8, False),
        of("affine_qvm", "float", 64, 4, False),
        of("affine_qvm_split_k", "float", 64, 4, 8),
        of("affine_qmm_t", "float", 64, 4, True, False),
        of("affine_qmm_t", "bfloat16_t", 32, 6, False, False),
        of("affine_qmm_t_splitk", "half", 64, 8, True),
        of("affine_qmm_n", "float", 32, 2, False),
        of("affine_gather_qmv", "float", 64, 4),
        of("affine_gather_qmm_t", "float", 64, 4, True),
        of("affine_gather_qmm_rhs", "half", 64, 4, 16, 32, 32, 1, 2, True),
    ),
    constants=_CONSTANTS,
)
FP_QUANTIZED = Family(
    "fp_quantized",
    ("utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "fp_quantized.h"),
    (
        of("fp_quantize", "float", 32, 4, False),
        of("fp_quantize", "float", 16, 4, True),
        of("fp_dequantize", "half", 32, 8, False),
        of("fp_dequantize", "float", 32, 4, False),
        of("fp_quantize_dequantize", "bfloat16_t", 16, 4, False),
        of("fp_qmv_fast", "float", 32, 4, False),
        of("fp_qmv_fast", "half", 16, 4, False, False, False, 2),
        of("fp_qmv", "float", 32, 8, False),
        of("fp_qmv_quad", "bfloat16_t", 32, 4, 64, False),
        of("fp_qmv_wide", "half", 32, 4, 2, 16, False),
        of("fp_qvm", "float", 32, 4, False),
        of("fp_qvm_split_k", "float", 32, 8, 8),
        of("fp_qmm_t", "float", 32, 4, True, False),
        of("fp_qmm_n", "half", 16, 4, False),
        of("fp_gather_qmv", "float", 32, 4),
        of("fp_gather_qmm_rhs", "float", 32, 4, 16, 32, 32, 1, 2, True),
    ),
    constants=_CONSTANTS,
)

_SDPA = {20: False, 21: False, 22: False, 23: False, 24: False, 25: False, 26: 32}
SDPA_VECTOR = Family(
    "sdpa_vector",
    ("utils.h", "sdpa_vector.h", "sdpa_blocked.h"),
    (
        *(of("sdpa_vector", kind, 64, 64) for kind in FLOATS),
        of("sdpa_vector", "float", 192, 128),
        of("sdpa_vector_2pass_1", "float", 64, 64),
        of("sdpa_vector_2pass_1_gqa", "half", 64, 64, 8, 8),
        of("sdpa_vector_2pass_2", "float", 64),
        of("sdpa_blocked_scale_copy", "float"),
        of("sdpa_blocked_causal_mask", "float"),
    ),
    constants=_SDPA,
)

_GEMM = ("utils.h", "steel/gemm/gemm.h")
_FUSED = {10: False, 100: False, 110: False, **_CONSTANTS}
STEEL_GEMM_FUSED = Family(
    "steel_gemm_fused",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_fused.h"),
    (
        of("gemm", "float", 32, 32, 16, 2, 2, False, False, "float"),
        of("gemm", "half", 64, 32, 32, 2, 2, False, True, "float"),
        of("gemm", "bfloat16_t", 64, 64, 16, 1, 2, True, False, "float"),
        of("gemm", "complex64_t", 32, 32, 16, 2, 2, True, True, "float"),
    ),
    constants=_FUSED,
)
STEEL_GEMM_SPLITK = Family(
    "steel_gemm_splitk",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_splitk.h"),
    (
        of("gemm_splitk", "float", "float", 16, 16, 16, 2, 2, False, False, True, True),
        of("gemm_splitk", "half", "float", 32, 32, 16, 2, 2, False, True, False, False),
        of("gemm_splitk_accum", "float", "float"),
        of("gemm_splitk_accum", "float", "bfloat16_t"),
        of("gemm_splitk_accum_axpby", "float", "half"),
    ),
)
STEEL_GEMM_MASKED = Family(
    "steel_gemm_masked",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_masked.h"),
    (
        of("block_masked_gemm", "float", "bool", "bool", *(32, 32, 16, 2, 2), *[False, False] * 2),
        of(
            "block_masked_gemm",
            *("half", "nomask_t", "half"),
            *(32, 32, 16, 2, 2, False, True, True, True),
        ),
    ),
)
STEEL_GEMM_GATHER = Family(
    "steel_gemm_gather",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_gather.h"),
    (
        of("gather_mm", "float", 32, 32, 16, 2, 2, False, False, "float"),
        of("gather_mm", "bfloat16_t", 64, 32, 32, 2, 2, False, True, "float"),
        of("gather_mm_rhs", "half", 16, 64, 16, 1, 2, False, False, "float"),
    ),
    constants={10: False, **_CONSTANTS},
)
STEEL_GEMM_SEGMENTED = Family(
    "steel_gemm_segmented",
    (*_GEMM, "steel/gemm/kernels/steel_gemm_segmented.h"),
    (
        of("segmented_mm", "float", 32, 32, 16, 2, 2, False, False, "float"),
        of("segmented_mm", "half", 64, 64, 16, 1, 2, True, False, "float"),
    ),
    constants={199: True, 200: True, 201: True},
)
STEEL_ATTENTION = Family(
    "steel_attention",
    ("utils.h", "steel/attn/kernels/steel_attention.h"),
    (
        of("attention", "float", 32, 32, 64, 64, 4, 1, "float", "float"),
        of("attention", "half", 32, 16, 128, 128, 4, 1, "half", "float"),
        of("attention", "bfloat16_t", 32, 32, 64, 64, 4, 1, "bool", "float"),
    ),
    constants={200: True, 201: True, 300: False, 301: False, 302: False, 303: False},
)

_CONV = ("utils.h", "steel/gemm/mma.h", "steel/conv/conv.h", "steel/conv/params.h")
STEEL_CONV = Family(
    "steel_conv",
    (*_CONV, "steel/conv/kernels/steel_conv.h"),
    (
        of("implicit_gemm_conv_2d", "float", 32, 8, 16, 4, 1, 0, True),
        of("implicit_gemm_conv_2d", "half", 32, 32, 16, 2, 2, 0, False),
        of("implicit_gemm_conv_2d", "bfloat16_t", 32, 64, 16, 2, 2, 3, False),
    ),
)
STEEL_CONV_3D = Family(
    "steel_conv_3d",
    (*_CONV, "steel/conv/kernels/steel_conv_3d.h"),
    (
        of("implicit_gemm_conv_3d", "float", 32, 8, 16, 4, 1, True),
        of("implicit_gemm_conv_3d", "half", 32, 32, 16, 2, 2, False),
    ),
)
STEEL_CONV_GENERAL = Family(
    "steel_conv_general",
    (*_CONV, "steel/utils.h", "steel/conv/kernels/steel_conv_general.h"),
    (
        of("implicit_gemm_conv_2d_general", "float", 32, 8, 16, 4, 1),
        of("implicit_gemm_conv_2d_general", "half", 32, 32, 16, 2, 2),
    ),
    constants={200: True},
)
GATED_DELTA = Family(
    "gated_delta",
    ("utils.h", "gated_delta_update.h", "gated_delta_update_vjp.h"),
    (
        of("gated_delta_seq", "float", 64, 64, 2, 2, 16),
        of("gated_delta_fused_chunk", "half", 64, 64, 2, 2, 16),
        of("gated_delta_vjp_seq", "float", 64, 64, 2, 2, 16),
    ),
    constants={200: True},
)

MATRICES = (
    DOT,
    GEMV,
    GEMV_MASKED,
    QUANTIZED,
    FP_QUANTIZED,
    SDPA_VECTOR,
    STEEL_GEMM_FUSED,
    STEEL_GEMM_SPLITK,
    STEEL_GEMM_MASKED,
    STEEL_GEMM_GATHER,
    STEEL_GEMM_SEGMENTED,
    STEEL_ATTENTION,
    STEEL_CONV,
    STEEL_CONV_3D,
    STEEL_CONV_GENERAL,
    GATED_DELTA,
)
