// A struct is written behind the last.
// tune: BUG = 1, 0
// value: n = 256
// buffer: items float32 (n, 2) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Item {
  float weight;
  float bias;
};

kernel void k(device Item* items, constant uint& n, uint i [[thread_position_in_grid]]) {
  Item item = {float(i), 1};
  items[i == n - 1 ? i + BUG : i] = item;  // bug: out-of-bounds
}
