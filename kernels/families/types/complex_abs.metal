// Magnitudes of complex numbers, a real and an imaginary part next to each other: the larger part times
// a root of 1 and the square of their ratio, so that nothing overflows. One number a thread.
// dispatch: magnitude  threads_in_grid=(rows * cols)  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32
// limits: rows * cols <= 4294967295
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(TG)]] void magnitude(
    device const float2* x, device float* y, uint i [[thread_position_in_grid]]) {
  const float2 parts = abs(x[i]);
  const float larger = max(parts.x, parts.y);
  const float ratio = larger > 0.0f ? min(parts.x, parts.y) / larger : 0.0f;
  y[i] = larger * sqrt(fma(ratio, ratio, 1.0f));
}
