// Rows of activations as bytes with one scale each, the largest magnitude over 127, for products of
// bytes (matmul_int8): one threadgroup a row, which reads it twice, the second time from the cache.
// dispatch: quantize  threadgroups=(rows)  threads=(min(TG, 32 * ceil_div(cols, 128)))
// tune: TG = 1024, 32, 64, 128, 256
// defaults: cpu TG = 32
// defaults: cuda TG = 128
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void quantize(
    device const DTYPE* x, device char* y, device float* scales, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float partial[TG / 32];
  device const DTYPE* from = x + ulong(row) * cols;
  device char* to = y + ulong(row) * cols;
  float most = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    most = max(most, largest(abs(load_quad(from, column, cols))));
  }
  most = simd_max(most);
  if (lane == 0) {
    partial[simdgroup] = most;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < simdgroups; ++i) {
    most = max(most, partial[i]);
  }
  const float scale = most / 127.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    const float4 values = load_quad(from, column, cols);
    const float4 scaled = scale > 0.0f ? rint(values / scale) : float4(0.0f);
    const char4 bytes = char4(clamp(scaled, -127.0f, 127.0f));
    for (uint i = 0; i < min(4u, cols - column); ++i) {
      to[column + i] = bytes[i];
    }
  }
  if (thread_index == 0) {
    scales[row] = scale;
  }
}
