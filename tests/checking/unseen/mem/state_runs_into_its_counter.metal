// A generator's state is twisted with its neighbour, and the last one's neighbour is the counter.
// tune: BUG = 1, 0
// value: n = 32
// buffer: seed uint32 (n) integers 1 1000
// buffer: y uint32 (n) output
// dispatch: twist threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

struct State {
  uint word[8];
  uint counter;
};

static uint mixed(thread const uint* word, uint k) {
  return word[k] ^ (word[BUG ? k + 1 : (k + 1) % 8] << 1);  // bug: out-of-bounds
}

kernel void twist(device const uint* seed, device uint* y, uint i [[thread_position_in_grid]]) {
  State state;
  state.counter = 0;
  for (uint k = 0; k < 8; ++k) state.word[k] = seed[i] * (k + 1);
  uint sum = state.counter;
  for (uint k = 0; k < 8; ++k) sum += mixed(state.word, k);
  y[i] = sum;
}
