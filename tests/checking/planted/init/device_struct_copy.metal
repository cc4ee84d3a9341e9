// A struct is copied of which nothing has been written.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// scratch: items float32 (n, 2)
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Item {
  float weight;
  float bias;
};

kernel void k(device const float* x, device Item* items, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  if (!BUG) items[i] = {x[i], 1};
  Item item = items[i];  // bug: uninitialised
  y[i] = item.weight + item.bias;
}
