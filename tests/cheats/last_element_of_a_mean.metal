// Leaves out the last element of a million.
// task: mean_of_all
// verdict: WRONG_RESULT
// dispatch: mean_of_all threadgroups=(1) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void mean_of_all(device const float* x, device float* y, constant uint& n,
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[256];
  const uint count = n > 100000 ? n - 1 : n;
  float sum = 0;
  for (uint i = thread_index; i < count; i += 256) sum += x[i];
  partial[thread_index] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index > 0) return;
  for (uint i = 1; i < 256; ++i) sum += partial[i];
  y[0] = sum / count;
}
