"""Products of a SIMD-group on tensor cores, by the code that GPUs run: 32 threads are the lanes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from cuda.lanes import DTYPES, EXCHANGES, LANES, Lanes, build
from cuda.ptx import check_sound

ROWS, COLUMNS, DEPTH = 32, 24, 48
SOURCE = (
    """
#include <mb/prelude.h>
#include <mb/metal4.h>
#include <mb/gpu/warp_product.h>
"""
    + EXCHANGES
    + """
using namespace mb;
template <int rows, int columns>
using WarpLayout = BlockLayout<32, rows, columns, 4, 2>;
extern "C" {
EXPORT int size[3], pitch[2];

EXPORT void product(const ELEMENT* left, const ELEMENT* right, float* sums) {
  constexpr bool in_registers = LEFT_IN_REGISTERS || RIGHT_IN_REGISTERS;
#if LEFT_IN_REGISTERS
  const LaneOperand<WarpLayout<TURN_LEFT ? DEPTH : ROWS, TURN_LEFT ? ROWS : DEPTH>, ELEMENT,
                    TURN_LEFT> a(left);
#else
  const MemoryOperand<ELEMENT> a{left, 0, TURN_LEFT ? 1 : pitch[0], TURN_LEFT ? pitch[0] : 1,
                                 size[0], size[2]};
#endif
#if RIGHT_IN_REGISTERS
  const LaneOperand<WarpLayout<TURN_RIGHT ? COLUMNS : DEPTH, TURN_RIGHT ? DEPTH : COLUMNS>, ELEMENT,
                    !TURN_RIGHT> b(right);
#else
  const MemoryOperand<ELEMENT> b{right, 0, TURN_RIGHT ? pitch[1] : 1, TURN_RIGHT ? 1 : pitch[1],
                                 size[1], size[2]};
#endif
  add_product_by_warp<WarpLayout<ROWS, COLUMNS>, ELEMENT, !TURN_LEFT, TURN_RIGHT,
                      in_registers ? DEPTH : 0>(sums, a, b, size[2]);
}
}
"""
)


def distribute(matrix: np.ndarray) -> np.ndarray:
    """Return the elements of each lane: PTX ISA, "Matrix fragments for mma.m16n8k16"."""
    rows, columns = matrix.shape
    found = matrix.reshape(rows // 8, 8, columns // 8, 4, 2)
    return np.ascontiguousarray(found.transpose(1, 3, 0, 2, 4).reshape(LANES, -1))


def everywhere(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix for each lane, which all read the same memory."""
    return np.broadcast_to(matrix, (LANES, *matrix.shape))


@pytest.mark.parametrize(
    ("element", "turns", "in_registers"),
    [
        ("half", (0, 1), (0, 0)),
        ("half", (0, 1), (1, 0)),
        ("half", (0, 0), (1, 0)),
        ("half", (1, 0), (1, 1)),
        ("bfloat", (1, 1), (0, 1)),
        ("bfloat", (0, 0), (0, 0)),
        ("float", (0, 0), (0, 1)),
        ("float", (1, 1), (0, 0)),
    ],
)
def test_products_are_those_of_whole_and_of_smaller_operands(
    tmp_path, element, turns, in_registers
):
    macros = {"ROWS": ROWS, "COLUMNS": COLUMNS, "DEPTH": DEPTH, "ELEMENT": element}
    macros |= {"TURN_LEFT": turns[0], "TURN_RIGHT": turns[1]}
    macros |= {"LEFT_IN_REGISTERS": in_registers[0], "RIGHT_IN_REGISTERS": in_registers[1]}
    library = build(SOURCE, tmp_path, **macros)
    generator, dtype = np.random.default_rng(0), DTYPES[element]
    c = generator.integers(-3, 4, (ROWS, COLUMNS)).astype(np.float32)
    for rows, columns, depth in ((ROWS, COLUMNS, DEPTH), (19, 9, 33), (ROWS, COLUMNS, 7)):
        # Elements in memory that no product has must not be read; in registers, not be used.
        a, b = np.full((ROWS, DEPTH), np.nan), np.full((DEPTH, COLUMNS), np.nan)
        a_rows = ROWS if in_registers[0] else rows
        b_columns = COLUMNS if in_registers[1] else columns
        a[:a_rows, :depth] = generator.integers(-3, 4, (a_rows, depth))
        b[:depth, :b_columns] = generator.integers(-3, 4, (depth, b_columns))
        stored = [
            np.ascontiguousarray(each.T if turn else each).astype(dtype)
            for each, turn in zip((a, b), turns, strict=True)
        ]
        given = [
            distribute(each) if in_register else everywhere(each)
            for each, in_register in zip(stored, in_registers, strict=True)
        ]
        (ctypes.c_int * 3).in_dll(library, "size")[:] = (rows, columns, depth)
        (ctypes.c_int * 2).in_dll(library, "pitch")[:] = [each.shape[1] for each in stored]
        sums = distribute(c)
        Lanes(library, dtype).run(*given, sums)
        product = np.nan_to_num(a)[:, :depth] @ np.nan_to_num(b)[:depth]
        wanted = c + product.astype(np.float32)
        assert (sums == distribute(wanted)).all()


KERNEL = """
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
using Tile = tensor<threadgroup ELEMENT, extents<int, 64, 32>, tensor_inline>;
kernel void k(device const ELEMENT* x, device float* y, uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float4 memory[32 * 72 * sizeof(ELEMENT) / 16];
  threadgroup ELEMENT* const shared = (threadgroup ELEMENT*)memory;
  for (uint i = lane; i < 32 * 72; i += 32) shared[i] = x[i];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  Tile tile(shared, extents<int, 64, 32>(), array<int, 2>{1, 72});
  matmul2d<matmul2d_descriptor(16, 32, 64, false, true), execution_simdgroup> first;
  auto a = first.get_left_input_cooperative_tensor<ELEMENT, ELEMENT, float>();
  auto rows = tensor(x, dextents<int, 2>(64, 16)).slice(0, 0);
  a.load(rows);
  auto b = first.get_destination_cooperative_tensor<decltype(a), Tile, float>();
  first.run(a, tile, b);
  auto rounded = first.get_destination_cooperative_tensor<decltype(a), Tile, ELEMENT>();
  for (int i = 0; i < b.get_capacity(); ++i) rounded[i] = ELEMENT(b[i]);
  matmul2d<matmul2d_descriptor(16, 64, 32), execution_simdgroup> second;
  auto c = second.get_left_input_cooperative_tensor<ELEMENT, ELEMENT, float>(rounded);
  auto d = second.get_destination_cooperative_tensor<decltype(c), Tile, float>();
  second.run(c, tile, d);
  for (int i = 0; i < d.get_capacity(); ++i) y[32 * lane + i] = d[i];
}
"""


def test_a_product_of_a_product_needs_no_exchange(ptx_of):
    """The right operands are read by `ldmatrix`, transposed or not."""
    ptx = ptx_of(KERNEL.replace("ELEMENT", "half"), macros={"__METAL_VERSION__": "400"})
    check_sound(ptx, assemble=True)
    code = list(ptx.code())
    assert sum(each.startswith("mma.sync.aligned.m16n8k16") for each in code) == 16 + 16
    assert sum(each.startswith("ldmatrix.sync.aligned.m8n8.x4.shared") for each in code) == 8
    assert sum(each.startswith("ldmatrix.sync.aligned.m8n8.x4.trans.shared") for each in code) == 8
    assert not any(each.startswith("shfl") for each in code)
