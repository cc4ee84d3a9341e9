// An array within a struct is read behind the last struct.
// tune: BUG = 1, 0
// value: n = 256
// buffer: items float32 (n, 4) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Item {
  float taps[4];
};

kernel void k(device const Item* items, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = items[i].taps[2 + 2 * BUG];  // bug: out-of-bounds
}
