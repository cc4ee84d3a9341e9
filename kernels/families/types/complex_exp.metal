// Exponentials of complex numbers: a real and an imaginary part
// next to each other, moved as a vector of two by one thread.
// dispatch: exponential  threads_in_grid=(rows * cols)  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32
// limits: rows * cols <= 4294967295
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(TG)]] void exponential(
    device const float2* x, device float2* y, uint i [[thread_position_in_grid]]) {
  float cosine;
  const float sine = sincos(x[i].y, cosine);
  y[i] = exp(x[i].x) * float2(cosine, sine);
}
