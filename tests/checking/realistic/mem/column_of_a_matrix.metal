// Bones' matrices: the column that moves the point is taken to be the fifth.
// tune: BUG = 1, 0
// value: n = 32
// buffer: bones float32 (n, 4, 4) normal
// buffer: columns int32 (1) integers 4 5
// buffer: y float32 (n, 4) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float4x4* bones, device const int* columns, device float4* y,
              uint i [[thread_position_in_grid]]) {
  float4x4 bone = bones[i];
  int last = columns[0] - (BUG ? 0 : 1);
  y[i] = bone[last];  // bug: out-of-bounds
}
