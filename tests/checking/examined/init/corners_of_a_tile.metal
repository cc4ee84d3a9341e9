// A tile with a halo whose ends are never filled.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: smooth threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void smooth(device const float* x, device float* y, constant uint& n,
                   uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[34];
  tile[t + 1] = x[i];
  if (t == 0 && (!BUG || i > 0)) tile[0] = i > 0 ? x[i - 1] : 0.0f;
  if (t == 31) tile[33] = i + 1 < n ? x[i + 1] : 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = 0.25f * tile[t] + 0.5f * tile[t + 1] + 0.25f * tile[t + 2];  // bug: uninitialised
}
