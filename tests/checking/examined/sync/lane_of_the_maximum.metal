// Each lane asks for the value of a different lane by a broadcast.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: from uint32 (n) integers 0 32
// buffer: y float32 (n) output
// dispatch: take threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void take(device const float* x, device const uint* from, device float* y,
                 uint t [[thread_position_in_threadgroup]]) {
  const ushort lane = from[t];
  if (BUG) {
    y[t] = simd_broadcast(x[t], lane);  // bug: simdgroup
  } else {
    y[t] = simd_shuffle(x[t], lane);
  }
}
