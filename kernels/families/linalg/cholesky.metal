// Cholesky factors of a batch of matrices, a threadgroup each, as the upper factor U = L^T: a row of
// U lies beside each other, so that threads have columns. HEIGHT rows at a time, a thread sums
// the products with all rows above (metalbench/block_rows.h). The first SIMD-group factors the
// triangle on the diagonal in registers, by broadcasts; the others then solve it for their columns.
// Each element of U is written once. Last, tiles of U are transposed through threadgroup memory.
// dispatch: cholesky  threadgroups=(batch)  threads=(min(TG, max(64, 32 * ceil_div(n, 32))))
// tune: TG = 256, 128, 64
// dtypes: float32
// limits: n <= 4096
#include "metalbench/block_rows.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint HEIGHT = 16;
constant constexpr uint SIDE = 32;  // of a tile that is transposed
using Rows = BlockRows<HEIGHT>;

// Factors the triangle, whose columns are those of the first lanes; others solve it for theirs.
INLINED static void factor(thread float (&column)[HEIGHT], threadgroup Rows::Memory& memory,
                           uint heights, uint lane) {
  UNROLLED
  for (ushort s = 0; s < HEIGHT; ++s) {
    const float pivot = simd_broadcast(column[s], s);
    const float root = sqrt(s < heights ? pivot : 1.0f);
    column[s] /= root;
    UNROLLED
    for (ushort r = s + 1; r < HEIGHT; ++r) {
      column[r] = fma(-simd_broadcast(column[s], r), column[s], column[r]);
    }
    if (lane < HEIGHT) {
      memory.corner[s][lane] = column[s];
    }
    if (lane == s) {
      memory.diagonal[s] = root;
    }
  }
}

// Writes the transpose of the upper triangle of a matrix, and zeros into that triangle.
INLINED static void transpose(device float* matrix, uint n, threadgroup float (&tile)[SIDE][SIDE + 1],
                              uint thread_index, uint threads) {
  for (uint top = 0; top < n; top += SIDE) {
    for (uint left = top; left < n; left += SIDE) {
      for (uint i = thread_index; i < SIDE * SIDE; i += threads) {
        const uint row = top + i / SIDE, column = left + i % SIDE;
        float value = 0.0f;
        if (row <= column && column < n) {
          value = matrix[row * n + column];
        }
        tile[i / SIDE][i % SIDE] = value;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
      for (uint i = thread_index; i < SIDE * SIDE; i += threads) {
        const uint y = i / SIDE, x = i % SIDE;
        if (left + y < n && top + x < n) {
          matrix[(left + y) * n + top + x] = tile[x][y];
        }
        if (left != top && top + y < n && left + x < n) {
          matrix[(top + y) * n + left + x] = 0.0f;
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void cholesky(
    device const float* a, device float* y, constant uint& n,
    uint group [[threadgroup_position_in_grid]], uint threads [[threads_per_threadgroup]],
    uint thread_index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup Rows::Memory memory;
  threadgroup float tile[SIDE][SIDE + 1];
  a += ulong(group) * n * n;
  y += ulong(group) * n * n;
  for (uint row = 0; row < n; row += HEIGHT) {
    const uint heights = min(HEIGHT, n - row);
    for (uint start = row; start < n; start += threads) {
      const uint column = start + thread_index, at = min(column, n - 1);
      float values[HEIGHT];
      Rows::multiply(values, y + at, n, row, heights, UpperColumns{y + row, n}, memory,
                     thread_index, threads);
      UNROLLED
      for (uint j = 0; j < HEIGHT; ++j) {
        values[j] = j < heights ? a[(row + j) * n + at] - values[j] : 0.0f;
      }
      if (start == row) {
        if (simdgroup == 0) {
          factor(values, memory, heights, lane);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
      if (start != row || simdgroup != 0) {
        Rows::solve(values, memory);
      }
      UNROLLED
      for (uint j = 0; j < HEIGHT; ++j) {
        if (j < heights && column >= row + j && column < n) {
          y[(row + j) * n + column] = values[j];
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  }
  transpose(y, n, tile, thread_index, threads);
}
