// The distance of a butterfly differs from lane to lane.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: mix_lanes threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void mix_lanes(device const float* x, device float* y,
                      uint lane [[thread_index_in_simdgroup]]) {
  ushort mask = BUG ? ushort(lane / 16 + 1) : ushort(1);
  y[lane] = simd_shuffle_xor(x[lane], mask);  // bug: simdgroup
}
