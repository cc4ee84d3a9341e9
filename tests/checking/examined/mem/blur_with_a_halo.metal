// A box blur of radius 3: its tile has room for one halo only.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: blur threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

constant constexpr int kRadius = 3;

kernel void blur(device const float* x, device float* y, constant int& n,
                 uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[64 + kRadius * (BUG ? 1 : 2)];
  const int first = i - t - kRadius;
  for (int at = t; at < 64 + 2 * kRadius; at += 64) {
    const int from = clamp(first + at, 0, n - 1);
    tile[at] = x[from];  // bug: out-of-bounds
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (int d = 0; d <= 2 * kRadius; ++d) {
    if (t + d < 64 + kRadius * (BUG ? 1 : 2)) sum += tile[t + d];
  }
  y[i] = sum / (2 * kRadius + 1);
}
