// Horner's scheme over coefficients of the thread's own: the degree is taken for their number.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: degrees int32 (1) integers 5 6
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

static float horner(thread const float* coefficients, int count, float x) {
  float value = 0;
  for (int j = count; j >= 0; --j)
    value = value * x + coefficients[j];  // bug: out-of-bounds
  return value;
}

kernel void k(device const float* x, device const int* degrees, device float* y,
              uint i [[thread_position_in_grid]]) {
  float coefficients[5];
  for (int j = 0; j < 5; ++j) coefficients[j] = x[(i + j) % 64];
  y[i] = horner(coefficients, degrees[0] - 1 + BUG, x[i]);
}
