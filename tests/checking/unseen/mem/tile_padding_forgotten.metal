// A tile is declared without the column that its index reckons with.
// tune: BUG = 1, 0
// value: n = 16
// buffer: x float32 (n, n) normal
// buffer: y float32 (n, n) output
// dispatch: transpose threadgroups=(1) threads=(n, n)
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device const float* x, device float* y, constant uint& n,
                      uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[BUG ? 16 * 16 : 16 * 17];
  tile[t.y * 17 + t.x] = x[t.y * n + t.x];  // bug: out-of-bounds
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint at = t.x * 17 + t.y;
  y[t.y * n + t.x] = at < 256 || !BUG ? tile[at] : 0;
}
