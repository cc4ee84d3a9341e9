// A product's tile is stored to threadgroup memory and read by all lanes at once.
// tune: BUG = 1, 0
// value: n = 8
// buffer: a float32 (n, n) normal
// buffer: b float32 (n, n) normal
// buffer: c float32 (n, n) output
// dispatch: product threadgroups=(1) threads=(64)
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void product(device const float* a, device const float* b, device float* c,
                    uint t [[thread_position_in_threadgroup]],
                    uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float tile[64];
  if (simd == 0) {
    simdgroup_float8x8 ma, mb, mc = make_filled_simdgroup_matrix<float, 8, 8>(0);
    simdgroup_load(ma, a, 8);
    simdgroup_load(mb, b, 8);
    simdgroup_multiply_accumulate(mc, ma, mb, mc);
    simdgroup_store(mc, tile, 8);
  }
  threadgroup_barrier(BUG ? mem_flags::mem_device : mem_flags::mem_threadgroup);
  c[t] = max(tile[t], 0.0f);  // bug: race
}
