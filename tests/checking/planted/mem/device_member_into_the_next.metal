// A pointer to an array of a struct in device memory goes on into the next member.
// tune: BUG = 1, 0
// value: n = 16
// buffer: items float32 (n, 8) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

struct Item {
  float taps[4];
  float bias[4];
};

static float dot_of(device const float* p, device const float* q) {
  float sum = 0;
  for (uint j = 0; j < 4 + BUG; ++j) sum += p[j] * q[j & 3];  // bug: out-of-bounds
  return sum;
}

kernel void k(device const Item* items, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = dot_of(items[i].taps, items[i].bias);
}
