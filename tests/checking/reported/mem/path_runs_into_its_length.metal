// A path's stack lies in a struct before its length, and a helper pushes without asking.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x uint32 (n) integers 3 9
// buffer: y uint32 (n) output
// dispatch: walk threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

struct Path {
  uint node[4];
  uint bound;
  uint cost;
};

static void push(thread uint* node, uint at, uint value) {
  node[at] = value;  // bug: out-of-bounds
}

kernel void walk(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) {
  Path path;
  path.bound = 99;
  path.cost = 0;
  uint depth = BUG ? 5 : 4;
  for (uint d = 0; d < depth; ++d) push(path.node, d, x[i] + d);
  for (uint d = 0; d < 4; ++d) path.cost += path.node[d];
  y[i] = path.cost + path.bound;
}
