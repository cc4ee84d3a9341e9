// Two fields of a struct in threadgroup memory; all threads add to one.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (2) output
// dispatch: moments threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

struct Moments {
  float sum;
  float squares;
};

kernel void moments(device const float* x, device float* y,
                    uint t [[thread_position_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup Moments found[2];
  const float sum = simd_sum(x[t]), squares = simd_sum(x[t] * x[t]);
  if (lane == 0) found[BUG ? 0 : group] = {sum, squares};  // bug: race
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) {
    y[0] = found[0].sum + (BUG ? 0.0f : found[1].sum);
    y[1] = found[0].squares + (BUG ? 0.0f : found[1].squares);
  }
}
