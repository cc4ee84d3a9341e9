// Row and column are exchanged in a matrix that is not square.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (32, 8) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  uint row = i / 8, column = i % 8;
  y[i] = x[BUG ? column * 64 + row : row * 8 + column];  // bug: out-of-bounds
}
