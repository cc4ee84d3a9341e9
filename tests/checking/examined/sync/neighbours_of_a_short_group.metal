// A group of 20 threads exchanges values over 16 lanes.
// tune: BUG = 1, 0
// value: n = 20
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: exchange threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device const float* x, device float* y,
                     uint t [[thread_position_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
  const float own = x[t];
  const ushort distance = BUG ? 16 : 1;
  y[t] = own + simd_shuffle_xor(own, distance);  // bug: simdgroup
}
