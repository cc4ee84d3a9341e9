// A solver gives nothing where there is no root, and its caller compares it all the same.
// tune: BUG = 1, 0
// value: n = 64
// buffer: b float32 (n) normal
// buffer: c float32 (n) normal
// buffer: y float32 (n) output
// dispatch: roots threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

static bool solve(float b, float c, thread float& root) {
  float d = b * b - 4 * c;
  if (d < 0) return false;
  root = 0.5f * (sqrt(d) - b);
  return true;
}

kernel void roots(device const float* b, device const float* c, device float* y,
                  uint i [[thread_position_in_grid]]) {
  float root;
  bool is_real = solve(b[i], c[i], root);
  if (!BUG && !is_real) root = 0;
  float result = 0;
  if (root > 1) result = 1;  // bug: uninitialised
  y[i] = result;
}
