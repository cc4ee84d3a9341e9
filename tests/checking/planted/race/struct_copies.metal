// Structs are copied over each other.
// tune: BUG = 1, 0
// value: n = 256
// buffer: items float32 (n, 2) normal inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Item {
  float weight;
  float bias;
};

kernel void k(device Item* items, constant uint& n, uint i [[thread_position_in_grid]]) {
  Item item = items[BUG ? i ^ 1 : i];
  item.weight += 1;
  items[i] = item;  // bug: race
}
