// Vector times matrix. A threadgroup has a strip of 32 columns, eight threads of a quad each, which
// is a cache line or half of one, and DOWN threads down it; every few rows each adds one quad
// times one element of the vector. What they find is joined through threadgroup memory, always in
// the same order.
// dispatch: gemv_t  threadgroups=(ceil_div(cols, 32))  threads=(8, DOWN)
// tune: DOWN = 32, 8, 64, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(8 * DOWN)]] void gemv_t(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][8];
  const uint column = 4 * (group.x * 8 + thread_position.x);
  float4 sum = 0.0f;
  for (uint row = thread_position.y; row < rows && column < cols; row += DOWN) {
    sum = fma(float(x[row]), load_quad(a + ulong(row) * cols, column, cols), sum);
  }
  partial[thread_position.y][thread_position.x] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_position.y == 0 && column < cols) {
    for (uint i = 1; i < DOWN; ++i) {
      sum += partial[i][thread_position.x];
    }
    store_quad(y, column, cols, sum);
  }
}
