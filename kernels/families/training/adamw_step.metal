// One step of AdamW for all elements of a parameter, with its moments: four arrays are read once and
// three written, which is all that it costs. The correction of the moments' bias depends on the
// number of the step alone, so that the host computes it. The shares of the gradient are 1 - beta: a
// float of beta near 1 would have fewer digits of them.
// dispatch: adamw_step  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 64
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void adamw_step(
    device const DTYPE* parameter, device const DTYPE* gradient, device const DTYPE* mean,
    device const DTYPE* square, device DTYPE* new_parameter, device DTYPE* new_mean,
    device DTYPE* new_square, constant uint& rows, constant uint& cols, constant float& rate,
    constant float& root, constant float& kept, constant float& mean_share,
    constant float& square_share, constant float& eps, uint i [[thread_position_in_grid]]) {
  const uint count = rows * cols;
  const float4 g = load_quad(gradient, 4 * i, count);
  const float4 old_m = load_quad(mean, 4 * i, count), old_v = load_quad(square, 4 * i, count);
  const float4 m = fma(mean_share, g - old_m, old_m);
  const float4 v = fma(square_share, g * g, (1.0f - square_share) * old_v);
  const float4 step = rate * m / fma(root, sqrt(v), eps);
  store_quad(new_parameter, 4 * i, count, fma(kept, load_quad(parameter, 4 * i, count), -step));
  store_quad(new_mean, 4 * i, count, m);
  store_quad(new_square, 4 * i, count, v);
}
