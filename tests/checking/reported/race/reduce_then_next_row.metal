// Thread 0 adds up a row's products while the others begin with the next row's, as reported of NVIDIA/cuml#6578.
// tune: BUG = 1, 0
// value: rows = 6
// value: cols = 96
// buffer: a float32 (rows, cols) normal
// buffer: x float32 (cols) normal
// buffer: y float32 (rows) output
// dispatch: block_gemv threadgroups=(1) threads=(96)
#include <metal_stdlib>
using namespace metal;

kernel void block_gemv(device const float* a, device const float* x, device float* y,
                       constant uint& rows, constant uint& cols,
                       uint t [[thread_position_in_threadgroup]]) {
  threadgroup float products[96];
  for (uint row = 0; row < rows; ++row) {
    products[t] = a[row * cols + t] * x[t];  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) {
      float sum = 0;
      for (uint k = 0; k < cols; ++k) sum += products[k];
      y[row] = sum;
    }
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
