// A struct of a vector at an odd element.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n / 4 - 1) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Item {
  float4 v;
};

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  if (i >= n / 4 - 1) return;
  device const Item* item = (device const Item*)(x + 4 * i + BUG);
  Item it = *item;  // bug: misaligned
  y[i] = it.v.y;
}
