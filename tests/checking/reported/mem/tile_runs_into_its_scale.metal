// A pointer walks over the weights of a struct in threadgroup memory, and takes its scale for one more.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

struct Tile {
  float weights[64];
  float scale[4];
};

static float total(threadgroup const float* w, uint count) {
  float sum = 0;
  for (uint k = 0; k < count; ++k) sum += w[k];  // bug: out-of-bounds
  return sum;
}

kernel void k(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup Tile tile;
  tile.weights[t] = x[t];
  if (t < 4) tile.scale[t] = 0.5f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = total(tile.weights, 64 + BUG) * tile.scale[0];
}
