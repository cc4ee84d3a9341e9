// Batch norm without affine part: each column gets mean 0 and variance 1 over the rows. A
// threadgroup has a strip of 4 QUADS columns, wide enough for whole cache lines, and THREADS
// threads down it. Each keeps up to KEEP quads of its column in registers, so that the matrix is
// read once, unless a batch is longer than THREADS * KEEP rows; the rest is read again from the
// cache. The variance is taken from deviations, whose own mean corrects the rounding of the
// first.
// dispatch: batch_norm  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS))  threads=(QUADS, THREADS)
// tune: QUADS = 8, 4
// tune: THREADS = 64, 32
// tune: KEEP = 16, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

// The sum over the threads of a column of quads, by eights: rows of zeros all add the same number,
// and a long chain would round each of them the same way. `partial` may be used again only behind a
// barrier.
static float4 sum_down(float4 value, threadgroup float4 (&partial)[THREADS][QUADS],
                       uint2 thread_position) {
  partial[thread_position.y][thread_position.x] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 result = 0.0f;
  for (uint i = 0; i < THREADS; i += 8) {
    float4 eight = partial[i][thread_position.x];
    for (uint j = 1; j < 8; ++j) {
      eight += partial[i + j][thread_position.x];
    }
    result += eight;
  }
  return result;
}

[[kernel]] void batch_norm(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                           constant uint& cols, constant float& eps,
                           uint group [[threadgroup_position_in_grid]],
                           uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup float4 sums[THREADS][QUADS];
  threadgroup float4 drifts[THREADS][QUADS];
  threadgroup float4 squares[THREADS][QUADS];
  const uint column = 4 * (group * QUADS + thread_position.x);
  const uint first = thread_position.y;
  const uint beyond = first + KEEP * THREADS;

  float4 kept[KEEP];
  float4 sum = 0.0f;
  for (uint i = 0; i < KEEP; ++i) {
    const uint row = first + i * THREADS;
    kept[i] = row < rows ? load_quad(x + ulong(row) * cols, column, cols) : float4(0.0f);
    sum += kept[i];
  }
  for (uint row = beyond; row < rows; row += THREADS) {
    sum += load_quad(x + ulong(row) * cols, column, cols);
  }
  const float4 mean = sum_down(sum, sums, thread_position) / float(rows);

  float4 drift = 0.0f;
  float4 square = 0.0f;
  for (uint i = 0; i < KEEP; ++i) {
    kept[i] = first + i * THREADS < rows ? kept[i] - mean : float4(0.0f);
    drift += kept[i];
    square = fma(kept[i], kept[i], square);
  }
  for (uint row = beyond; row < rows;) {
    float4 squares_of_few = 0.0f;
    for (uint i = 0; i < KEEP && row < rows; ++i, row += THREADS) {
      const float4 d = load_quad(x + ulong(row) * cols, column, cols) - mean;
      drift += d;
      squares_of_few = fma(d, d, squares_of_few);
    }
    square += squares_of_few;
  }
  drift = sum_down(drift, drifts, thread_position) / float(rows);
  const float4 variance = sum_down(square, squares, thread_position) / float(rows) - drift * drift;

  const float4 scale = precise::rsqrt(variance + eps);
  for (uint i = 0; i < KEEP; ++i) {
    const uint row = first + i * THREADS;
    if (row < rows) {
      store_quad(y + ulong(row) * cols, column, cols, (kept[i] - drift) * scale);
    }
  }
  for (uint row = beyond; row < rows; row += THREADS) {
    const float4 d = load_quad(x + ulong(row) * cols, column, cols) - mean;
    store_quad(y + ulong(row) * cols, column, cols, (d - drift) * scale);
  }
}
