// A pointer to an array of a thread's struct begins before the array.
// tune: BUG = 1, 0
// value: n = 16
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

struct Local {
  float before[4];
  float own[4];
};

static void set_all(thread float* p, int first, float v) {
  for (int j = first; j < 4; ++j) p[j] = v;  // bug: out-of-bounds
}

kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  Local local;
  set_all(local.before, 0, 1);
  set_all(local.own, -BUG, x[i]);
  y[i] = local.before[3] + local.own[i % 4];
}
