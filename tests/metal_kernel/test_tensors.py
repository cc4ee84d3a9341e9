"""Test sources of `mx.fast.metal_kernel` that use tensors of Metal 4."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

HEADER = """
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace mpp::tensor_ops;
"""
SOURCE = """
    constexpr int BM = 32, BN = 32;
    const int M = a_shape[0], K = a_shape[1], N = b_shape[0];
    auto A = tensor<const device T, dextents<int32_t, 2>, tensor_inline>(
        a, dextents<int32_t, 2>(K, M), array<int32_t, 2>{1, K});
    auto B = tensor<const device T, dextents<int32_t, 2>, tensor_inline>(
        b, dextents<int32_t, 2>(K, N), array<int32_t, 2>{1, K});
    auto C = tensor<device float, dextents<int32_t, 2>, tensor_inline>(
        out, dextents<int32_t, 2>(N, M), array<int32_t, 2>{1, N});
    constexpr int dynamic = static_cast<int>(dynamic_extent);
    constexpr auto desc = matmul2d_descriptor(BM, BN, dynamic, false, true);
    matmul2d<desc, execution_simdgroups<4>> op;
    const int row = threadgroup_position_in_grid.y * BM;
    const int column = threadgroup_position_in_grid.x * BN;
    auto left = A.slice(0, row);
    auto right = B.slice(0, column);
    auto target = C.slice(column, row);
    op.run(left, right, target);
"""


@pytest.mark.parametrize("dtype", [mx.float16, mx.float32, mx.bfloat16])
def test_a_product_of_tensors(patched, dtype):
    generator = np.random.default_rng(0)
    a = mx.array(generator.integers(-3, 4, (50, 40)).astype(np.float32)).astype(dtype)
    b = mx.array(generator.integers(-3, 4, (70, 40)).astype(np.float32)).astype(dtype)
    kernel = mx.fast.metal_kernel(
        name="product",
        input_names=["a", "b"],
        output_names=["out"],
        header=HEADER,
        source=SOURCE,
    )
    (out,) = kernel(
        inputs=[a, b],
        template=[("T", dtype)],
        grid=(128 * 3, 2, 1),
        threadgroup=(128, 1, 1),
        output_shapes=[(50, 70)],
        output_dtypes=[mx.float32],
    )
    wide = [np.array(each.astype(mx.float32)).astype(np.float64) for each in (a, b)]
    assert (np.array(out) == wide[0] @ wide[1].T).all()
