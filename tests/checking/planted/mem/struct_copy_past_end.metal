// A whole struct is copied from behind the last.
// tune: BUG = 1, 0
// value: n = 256
// buffer: items float32 (n, 2) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Item {
  float weight;
  float bias;
};

kernel void k(device const Item* items, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  Item item = items[i + BUG];  // bug: out-of-bounds
  y[i] = item.weight * item.bias;
}
