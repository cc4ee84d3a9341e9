// A convolution's tile of which the right halo is never loaded.
// tune: BUG = 1, 0
// value: side = 16
// buffer: x float32 (side, side) normal
// buffer: y float32 (side, side) output
// dispatch: k threadgroups=(2, 2) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& side,
              uint2 at [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[8][10];
  uint row = at.y * side;
  tile[t.y][t.x + 1] = x[row + at.x];
  if (t.x == 0) tile[t.y][0] = at.x == 0 ? 0 : x[row + at.x - 1];
  if (!BUG && t.x == 7) tile[t.y][9] = at.x + 1 == side ? 0 : x[row + at.x + 1];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint j = 0; j < 3; ++j)
    sum += tile[t.y][t.x + j];  // bug: uninitialised
  y[row + at.x] = sum / 3;
}
