"""Products of fragments on tensor cores, by the code that GPUs run: 32 threads are the lanes."""

from __future__ import annotations

import numpy as np
import pytest
from cuda.lanes import DTYPES, EXCHANGES, LANES, Lanes, build
from cuda.ptx import check_sound

SOURCE = (
    """
#include <mb/prelude.h>
#include <mb/metal4.h>
#include <mb/gpu/tensor_fragments.h>

"""
    + EXCHANGES
    + """
extern "C" EXPORT void product(const ELEMENT* left, const ELEMENT* right,
                                                    float* sums) {
  using namespace mpp::tensor_ops;
  constexpr matmul2d_descriptor shape(16, 32, 16, TURN_LEFT, TURN_RIGHT, RELAXED,
                                      matmul2d_descriptor::mode::multiply_accumulate);
  using Scope = metal::execution_simdgroup;
  mb::multiply_fragments<shape, ELEMENT,
                         mb::tensor_layout<shape, Scope, mb::TensorRole::left>::type,
                         mb::tensor_layout<shape, Scope, mb::TensorRole::right>::type,
                         mb::tensor_layout<shape, Scope, mb::TensorRole::destination>::type>(
      left, right, sums);
}
"""
)


def place(relaxed: bool, lane: int, index: int, fragments: int) -> tuple[int, int, int]:
    """Return fragment, row and column of an element, as in Metal's kernels (MLX, uzu)."""
    if relaxed:
        quad, element = lane >> 2, index % 8
        row = (quad & 4) | ((lane >> 1) & 3)
        column = ((quad & 2) | (lane & 1)) * 4
        return index // 8, row + 8 * (element >> 2), column + (element & 3)
    fragment, element = index // 4 % fragments, index % 4 + 4 * (index // (4 * fragments))
    row = ((lane >> 1) & 3) + ((lane >> 4) & 1) * 4 + 8 * (element >> 2)
    column = (lane & 1) * 2 + ((lane >> 3) & 1) * 4
    return fragment, row, column + (element & 1) + ((element & 3) >> 1) * 8


def distribute(matrix: np.ndarray, relaxed: bool) -> np.ndarray:
    """Return the elements of each lane: fragments are side by side, or below each other."""
    fragments = matrix.size // 256
    down = matrix.shape[0] > 16
    parts = [matrix[16 * f : 16 * f + 16] if down else matrix[:, 16 * f : 16 * f + 16]
             for f in range(fragments)]  # fmt: skip
    found = np.zeros((LANES, 16), matrix.dtype)
    for lane in range(LANES):
        for index in range(8 * fragments):
            fragment, row, column = place(relaxed, lane, index, fragments)
            found[lane, index] = parts[fragment][row, column]
    return found


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(("turn_left", "turn_right"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_multiply_fragments(tmp_path, element, relaxed, turn_left, turn_right):
    macros = {"ELEMENT": element, "TURN_LEFT": turn_left, "TURN_RIGHT": turn_right}
    library = build(SOURCE, tmp_path, **macros, RELAXED=int(relaxed))
    generator, dtype = np.random.default_rng(0), DTYPES[element]
    a, b = generator.integers(-3, 4, (16, 16)), generator.integers(-3, 4, (16, 32))
    c = generator.integers(-3, 4, (16, 32)).astype(np.float32)
    left, right = (
        distribute(np.ascontiguousarray(each.T if turn else each).astype(dtype), relaxed)
        for each, turn in ((a, turn_left), (b, turn_right))
    )
    sums = distribute(c, relaxed)
    Lanes(library, dtype).run(left, right, sums)
    assert (sums == distribute((c + a @ b).astype(np.float32), relaxed)).all()


KERNEL = """
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace mpp::tensor_ops;
kernel void k(device const ELEMENT* x, device float* y, uint lane [[thread_index_in_simdgroup]]) {
  constexpr auto shape = matmul2d_descriptor(16, 32, 16, false, true, true,
                                             matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<shape, execution_simdgroup> op;
  auto a = op.get_left_input_cooperative_tensor<ELEMENT, ELEMENT, float>();
  auto b = op.get_right_input_cooperative_tensor<ELEMENT, ELEMENT, float>();
  auto c = op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
  for (int i = 0; i < 8; ++i) a[i] = x[8 * lane + i];
  for (int i = 0; i < 16; ++i) { b[i] = x[16 * lane + i + 256]; c[i] = 0; }
  op.run(a, b, c);
  for (int i = 0; i < 16; ++i) y[16 * lane + i] = c[i];
}
"""


@pytest.mark.parametrize(
    ("element", "instruction", "count"),
    [("half", "m16n8k16.row.col.f32.f16.f16.f32", 4), ("float", "m16n8k8.row.col.f32.tf32", 24)],
)
def test_fragments_are_multiplied_by_tensor_cores(ptx_of, element, instruction, count):
    ptx = ptx_of(KERNEL.replace("ELEMENT", element), macros={"__METAL_VERSION__": "400"})
    check_sound(ptx, assemble=True)
    products = [line for line in ptx.code() if line.startswith("mma.sync")]
    assert len(products) == count
    assert all(f"mma.sync.aligned.{instruction}" in line for line in products)
