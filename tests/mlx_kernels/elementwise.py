"""Families that go from element to element: arange, unary, binary, ternary, copy, indexing."""

from __future__ import annotations

from mlx_kernels.family import FLOATS, Family, of

ARANGE = Family(
    "arange",
    ("utils.h", "arange.h"),
    tuple(of("arange", kind) for kind in ("float", "half", "bfloat16_t", "uint8_t", "int64_t")),
)

UNARY_FLOAT = ("ArcSinh", "Cosh", "Erf", "ErfInv", "Exp", "Expm1", "Log1p", "Round", "Sigmoid")
UNARY_FLOAT += ("Sign", "Tanh")
UNARY = Family(
    "unary",
    ("utils.h", "unary_ops.h", "unary.h"),
    (
        *(of("unary_v", "float", "float", op) for op in UNARY_FLOAT),
        of("unary_v", "half", "half", "Sin"),
        of("unary_v", "bfloat16_t", "bfloat16_t", "Rsqrt"),
        of("unary_v", "complex64_t", "complex64_t", "Exp", 1),
        of("unary_v", "complex64_t", "complex64_t", "Sin", 1),
        of("unary_v", "complex64_t", "float", "Imag", 1),
        of("unary_v", "int64_t", "int64_t", "Abs", 1),
        of("unary_v", "uint8_t", "uint8_t", "BitwiseInvert"),
        of("unary_v", "float", "uint8_t", "ToFP8"),
        of("unary_v2", "uint8_t", "float", "FromFP8"),
        of("unary_v2", "bool", "bool", "LogicalNot"),
        of("unary_g", "float", "float", "Negative", 1, "int"),
        of("unary_g", "half", "half", "Square", 4),
    ),
)

BINARY = Family(
    "binary",
    ("utils.h", "binary_ops.h", "binary.h"),
    (
        of("binary_ss", "float", "float", "Add"),
        of("binary_sv", "half", "half", "Subtract"),
        of("binary_vs", "bfloat16_t", "bfloat16_t", "Multiply"),
        *(of("binary_vv", kind, kind, "Remainder") for kind in (*FLOATS, "int32_t", "uint8_t")),
        *(of("binary_vv", "float", "float", op) for op in ("Power", "LogAddExp", "ArcTan2")),
        of("binary_vv", "float", "bool", "NaNEqual"),
        of("binary_vv", "int16_t", "int16_t", "FloorDivide"),
        of("binary_vv", "complex64_t", "complex64_t", "Power", 1),
        of("binary_vv", "complex64_t", "complex64_t", "LogAddExp", 1),
        of("binary_sv2", "uint64_t", "uint64_t", "LeftShift", 1),
        of("binary_vs2", "int64_t", "int64_t", "Maximum", 1),
        of("binary_vv2", "bool", "bool", "LogicalAnd"),
        of("binary_g_nd1", "float", "float", "Divide", "int"),
        of("binary_g_nd2", "half", "half", "Minimum", "int"),
        of("binary_g_nd3", "int32_t", "bool", "Less"),
        of("binary_g", "float", "float", "Multiply", 2, "int"),
        of("binary_g", "bfloat16_t", "bfloat16_t", "Add", 4),
    ),
)

BINARY_TWO = Family(
    "binary_two",
    ("utils.h", "binary_ops.h", "binary_two.h"),
    (
        *(of("binary_vv", kind, kind, "DivMod") for kind in (*FLOATS, "int32_t", "uint16_t")),
        of("binary_sv", "int8_t", "int8_t", "DivMod"),
        of("binary_vv2", "complex64_t", "complex64_t", "DivMod", 1),
        of("binary_g_nd2", "int64_t", "int64_t", "DivMod", "int"),
        of("binary_g", "float", "float", "DivMod", 2, "int"),
    ),
)

TERNARY = Family(
    "ternary",
    ("utils.h", "ternary_ops.h", "ternary.h"),
    (
        *(of("ternary_v", kind, "Select", False, False) for kind in (*FLOATS, "int32_t")),
        of("ternary_v", "complex64_t", "Select", False, True, 1),
        of("ternary_v2", "uint8_t", "Select", True, False),
        of("ternary_g_nd1", "float", "Select", "int"),
        of("ternary_g_nd3", "half", "Select"),
        of("ternary_g", "float", "Select", 2, "int"),
    ),
)

COPY = Family(
    "copy",
    ("utils.h", "copy.h"),
    (
        of("copy_s", "float", "float"),
        of("copy_v", "float", "half"),
        of("copy_v", "bfloat16_t", "float"),
        of("copy_v", "half", "bfloat16_t"),
        of("copy_v", "float", "complex64_t", 1),
        of("copy_v2", "int32_t", "bool"),
        of("copy_s2", "uint8_t", "int64_t"),
        of("copy_g_nd1", "float", "float", "int"),
        of("copy_g_nd2", "half", "float", "int"),
        of("copy_g_nd3", "int32_t", "int32_t"),
        of("copy_g", "float", "float", 2, "int"),
        of("copy_gg_nd3", "float", "float", "int"),
        of("copy_gg", "bfloat16_t", "bfloat16_t", 4),
        of("copy_gg_dynamic", "float", "float", 2, "int"),
    ),
)

GATHER = """
[[kernel]] void gather_rows(
    const device float* src [[buffer(0)]], device float* out [[buffer(1)]],
    const constant int* src_shape [[buffer(2)]], const constant int64_t* src_strides [[buffer(3)]],
    const constant size_t& src_ndim [[buffer(4)]], const constant int* slice_sizes [[buffer(5)]],
    const constant int* axes [[buffer(6)]], const constant int* idx_shapes [[buffer(7)]],
    const constant int64_t* idx_strides [[buffer(8)]],
    const constant bool* idx_contigs [[buffer(9)]], const constant int& idx_ndim [[buffer(10)]],
    const device int* idx0 [[buffer(20)]], const device int* idx1 [[buffer(21)]],
    uint3 index [[thread_position_in_grid]], uint3 grid [[threads_per_grid]]) {
  Indices<int, 2> idxs{{idx0, idx1}, idx_shapes, idx_strides, idx_contigs, idx_ndim};
  return gather_impl<float, int, 2, 1, int>(
      src, out, src_shape, src_strides, src_ndim, slice_sizes, axes, idxs, index, grid);
}
"""

SCATTER = """
[[kernel]] void scatter_KIND_OP(
    const device KIND* updates [[buffer(1)]], device mlx_atomic<KIND>* out [[buffer(2)]],
    const constant int* upd_shape [[buffer(3)]], const constant int64_t* upd_strides [[buffer(4)]],
    const constant size_t& upd_ndim [[buffer(5)]], const constant size_t& upd_size [[buffer(6)]],
    const constant int* out_shape [[buffer(7)]], const constant int64_t* out_strides [[buffer(8)]],
    const constant size_t& out_ndim [[buffer(9)]], const constant int* axes [[buffer(10)]],
    const constant int* idx_shapes [[buffer(11)]],
    const constant int64_t* idx_strides [[buffer(12)]],
    const constant bool* idx_contigs [[buffer(13)]], const constant int& idx_ndim [[buffer(14)]],
    const constant size_t& idx_size [[buffer(15)]], const device int* idx0 [[buffer(20)]],
    uint2 gid [[thread_position_in_grid]]) {
  Indices<int, 1> idxs{{idx0}, idx_shapes, idx_strides, idx_contigs, idx_ndim};
  return scatter_impl<KIND, int, OP<KIND>, 1, true, 1, int>(
      updates, out, upd_shape, upd_strides, upd_ndim, upd_size, out_shape, out_strides, out_ndim,
      axes, idx_size, idxs, gid);
}
"""
SCATTERS = (
    ("float", "Sum"),
    ("half", "Sum"),
    ("bfloat16_t", "Max"),
    ("int", "Prod"),
    ("uint8_t", "Min"),
)

INDEXING = Family(
    "indexing",
    (
        "utils.h",
        "atomic.h",
        "reduce_utils.h",
        "indexing/gather.h",
        "indexing/gather_axis.h",
        "indexing/gather_front.h",
        "indexing/scatter.h",
        "indexing/scatter_axis.h",
        "indexing/masked_scatter.h",
    ),
    (
        of("gather_rows"),
        *(of(f"scatter_{kind}_{op}") for kind, op in SCATTERS),
        of("gather_front", "float", "uint32_t", "int", 1),
        of("gather_front", "half", "int32_t", "int", 2),
        of("gather_axis", "float", "int32_t", "int", True, True),
        of("gather_axis", "bfloat16_t", "int64_t", "int64_t", False, False),
        of("scatter_axis", "float", "int32_t", "int", "Sum<float>", True, True),
        of("scatter_axis", "half", "uint32_t", "int", "None", True, False),
        of("masked_assign_impl", "float", True),
        of("masked_assign_impl", "half", False),
        of("slice_update_op_impl", "float", "int", "Sum<float>", True, True, False, 1, 1),
        of("slice_update_op_impl", "int32_t", "int", "Max<int32_t>", False, False, False, 1, 2),
    ),
    after=GATHER
    + "".join(SCATTER.replace("KIND", kind).replace("OP", op) for kind, op in SCATTERS),
)

ELEMENTWISE = (ARANGE, UNARY, BINARY, BINARY_TWO, TERNARY, COPY, INDEXING)
