// One query a thread, keys and values in tiles of 32, softmax on the way: exp(score - peak) with the
// highest score so far, by which what came before is made smaller.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint ROWS = 1024;
constant constexpr uint DIMS = 64;
constant constexpr uint THREADS = 128;
constant constexpr uint TILE = 32;

kernel void flash_attention(device const float* q, device const float* k, device const float* v,
                            device float* y, uint2 group [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float keys[TILE * DIMS], values[TILE * DIMS];
  const uint head = group.y * ROWS * DIMS;
  const uint own = head + (group.x * THREADS + thread_index) * DIMS;
  float query[DIMS], sums[DIMS], scores[TILE];
  for (uint d = 0; d < DIMS; ++d) {
    query[d] = q[own + d] * 0.125f;
    sums[d] = 0.0f;
  }
  float peak = -INFINITY, total = 0.0f;
  for (uint first = 0; first < ROWS * DIMS; first += TILE * DIMS) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_index; i < TILE * DIMS; i += THREADS) {
      keys[i] = k[head + first + i];
      values[i] = v[head + first + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float highest = peak;
    for (uint j = 0; j < TILE; ++j) {
      float score = 0.0f;
      for (uint d = 0; d < DIMS; ++d) score += query[d] * keys[j * DIMS + d];
      scores[j] = score;
      highest = max(highest, score);
    }
    const float smaller = exp(peak - highest);
    peak = highest;
    total *= smaller;
    for (uint d = 0; d < DIMS; ++d) sums[d] *= smaller;
    for (uint j = 0; j < TILE; ++j) {
      const float weight = exp(scores[j] - peak);
      total += weight;
      for (uint d = 0; d < DIMS; ++d) sums[d] += weight * values[j * DIMS + d];
    }
  }
  const float scale = 1.0f / total;
  for (uint d = 0; d < DIMS; ++d) y[own + d] = sums[d] * scale;
}
