// Mean of all elements, by one threadgroup.
// dispatch: mean_of_all threadgroups=(1) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void mean_of_all(device const float* x, device float* y, constant uint& n,
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float partial[256];
  float sum = 0;
  for (uint i = thread_index; i < n; i += 256) sum += x[i];
  partial[thread_index] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index > 0) return;
  for (uint i = 1; i < 256; ++i) sum += partial[i];
  y[0] = sum / n;
}
