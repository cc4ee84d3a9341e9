// One function of complex numbers, which the instance names: a real and an imaginary part next to
// each other. A thread has one element, and moves it as a vector of two. Quotients divide by the
// larger part first (Smith 1962), so that squares do not overflow.
// dispatch: complex_numbers  threads_in_grid=(rows * cols)  threads=(TG)
// instance: complex_multiply FUNCTION = 0
// instance: complex_divide FUNCTION = 1
// tune: TG = 256, 128, 512, 1024
// dtypes: float32
// limits: rows * cols <= 4294967295
#include <metal_stdlib>
using namespace metal;

float2 product(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

float2 quotient(float2 a, float2 b) {
  const bool turned = abs(b.x) < abs(b.y);
  const float2 by = turned ? b.yx : b;
  const float share = by.y / by.x;
  const float divisor = by.x + by.y * share;
  const float2 sums = turned ? float2(a.x * share + a.y, a.y * share - a.x)
                             : float2(a.x + a.y * share, a.y - a.x * share);
  return sums / divisor;
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void complex_numbers(
    device const float2* a, device const float2* b, device float2* y,
    uint i [[thread_position_in_grid]]) {
  y[i] = FUNCTION == 0 ? product(a[i], b[i]) : quotient(a[i], b[i]);
}
