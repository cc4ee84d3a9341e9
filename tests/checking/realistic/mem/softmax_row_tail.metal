// A row softmax whose sum takes one column too many.
// tune: BUG = 1, 0
// value: rows = 4
// value: columns = 100
// buffer: x float32 (rows, columns) normal
// buffer: y float32 (rows, columns) output
// dispatch: k threadgroups=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& rows, constant uint& columns,
              uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  device const float* in = x + row * columns;
  float top = -INFINITY;
  for (uint c = lane; c < columns; c += 32) top = max(top, in[c]);
  top = simd_max(top);
  float sum = 0;
  for (uint c = lane; c < columns + BUG; c += 32)
    sum += exp(in[c] - top);  // bug: out-of-bounds
  sum = simd_sum(sum);
  for (uint c = lane; c < columns; c += 32) y[row * columns + c] = exp(in[c] - top) / sum;
}
