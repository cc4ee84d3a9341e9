// A broadcast from the lane that a thread's own data name.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: leaders uint32 (n) integers 0 31
// buffer: y float32 (n) output
// dispatch: k threadgroups=(2) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device const uint* leaders, device float* y,
              uint i [[thread_position_in_grid]]) {
  uint leader = leaders[BUG ? i : i / 32];
  y[i] = simd_broadcast(x[i], ushort(leader));  // bug: simdgroup
}
