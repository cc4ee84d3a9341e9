// An embedding of tokens of which one is the padding, -1.
// tune: BUG = 1, 0
// value: tokens = 64
// buffer: ids int32 (tokens) integers -1 9
// buffer: table float32 (10, 8) normal
// buffer: y float32 (tokens, 8) output
// dispatch: k threadgroups=(tokens) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int* ids, device const float* table, device float* y,
              uint token [[threadgroup_position_in_grid]],
              uint j [[thread_position_in_threadgroup]]) {
  int id = ids[token];
  if (!BUG) id = max(id, 0);
  y[token * 8 + j] = table[id * 8 + int(j)];  // bug: out-of-bounds
}
