// Rows beyond the batch return before the barrier of a norm that several rows share, as discussed in LeelaChessZero/lc0#2420.
// tune: BUG = 1, 0
// value: n = 6
// value: c = 32
// buffer: x float32 (n, c) normal
// buffer: y float32 (n, c) output
// dispatch: layer_norm threadgroups=(ceil_div(n, 4)) threads=(c, 4)
#include <metal_stdlib>
using namespace metal;

kernel void layer_norm(device const float* x, device float* y, constant uint& n, constant uint& c,
                       uint2 group [[threadgroup_position_in_grid]],
                       uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float mean[4];
  uint row = group.x * 4 + t.y;
  if (BUG && row >= n) return;
  bool is_out = row >= n;
  float v = is_out ? 0 : x[row * c + t.x];
  float sum = simd_sum(v);
  if (t.x == 0) mean[t.y] = sum / c;
  threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
  if (!is_out) y[row * c + t.x] = v - mean[t.y];
}
