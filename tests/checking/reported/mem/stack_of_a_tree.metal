// A descent that keeps the state of every level with the thread, and never comes to a leaf.
// tune: BUG = 1, 0
// value: n = 32
// buffer: child uint32 (n) integers 0 32
// buffer: y uint32 (n) output
// dispatch: visit threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

struct State {
  uint path[64];
};

static uint descend(device const uint* child, uint at, State state, uint depth) {
  state.path[depth % 64] = at;
  if (!BUG && depth >= 8) return state.path[(depth + at) % 8];
  return descend(child, child[at], state, depth + 1) + state.path[depth % 64];  // bug: stack-overflow
}

kernel void visit(device const uint* child, device uint* y, uint i [[thread_position_in_grid]]) {
  State state = {};
  y[i] = descend(child, i, state, 0);
}
