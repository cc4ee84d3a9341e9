// A broadcast from lane 32 of 32.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: last threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void last(device const float* x, device float* y, constant uint& n,
                 uint lane [[thread_index_in_simdgroup]]) {
  y[lane] = simd_broadcast(x[lane], ushort(BUG ? n : n - 1));  // bug: simdgroup
}
