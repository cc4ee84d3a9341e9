// Slots without an expert leave a loop that has barriers in it, as reported of 1bit-MONSTER/1bit-MONSTER#1262.
// tune: BUG = 1, 0
// value: slots = 64
// value: dim = 64
// buffer: expert int32 (slots) integers -1 4
// buffer: x float32 (dim) normal
// buffer: y float32 (slots) zeros inout
// dispatch: gemv threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void gemv(device const int* expert, device const float* x, device float* y,
                 constant uint& dim, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[32];
  bool is_valid = expert[t] >= 0;
  float sum = 0;
  for (uint k = 0; k < dim; k += 32) {
    if (BUG && !is_valid) break;
    if (t < 32) tile[t] = x[k + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
    for (uint j = 0; j < 32; ++j) sum += tile[j];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (is_valid) y[t] = sum * float(expert[t] + 1);
}
