// Gradients of silu(gate) up with respect to both: three arrays are read once, two written. The
// logistic function is computed once for both.
// dispatch: swiglu_gradient  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 64
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/exponentials.h"
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void swiglu_gradient(
    device const DTYPE* dy, device const DTYPE* gate, device const DTYPE* up, device DTYPE* dgate,
    device DTYPE* dup, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  const uint count = rows * cols;
  const float4 d = load_quad(dy, 4 * i, count);
  const float4 g = load_quad(gate, 4 * i, count);
  const float4 s = 1.0f / (1.0f + precise::exp(-g));
  // silu' = s + g s (1 - s), and 1 - s is s(-g), without cancellation.
  const float4 slope = fma(g * s, 1.0f / (1.0f + precise::exp(g)), s);
  store_quad(dgate, 4 * i, count, d * load_quad(up, 4 * i, count) * slope);
  store_quad(dup, 4 * i, count, d * g * s);
}
