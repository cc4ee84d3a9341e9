// One step of Lion for all elements of a parameter: the sign of the momentum that the gradient has
// moved by one share is the direction, and the momentum that is kept has moved by another. Three
// arrays are read once and two written.
// dispatch: lion_step  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 64
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void lion_step(
    device const DTYPE* parameter, device const DTYPE* gradient, device const DTYPE* momentum,
    device DTYPE* new_parameter, device DTYPE* new_momentum, constant uint& rows,
    constant uint& cols, constant float& rate, constant float& kept,
    constant float& direction_share, constant float& momentum_share,
    uint i [[thread_position_in_grid]]) {
  const uint count = rows * cols;
  const float4 m = load_quad(momentum, 4 * i, count);
  const float4 change = load_quad(gradient, 4 * i, count) - m;
  const float4 direction = fma(direction_share, change, m);
  const float4 p = load_quad(parameter, 4 * i, count);
  store_quad(new_parameter, 4 * i, count, fma(kept, p, -rate * sign(direction)));
  store_quad(new_momentum, 4 * i, count, fma(momentum_share, change, m));
}
