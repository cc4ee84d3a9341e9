// GELU, exact: y = x P(x) with P the distribution function of the normal distribution, by minimax
// fits without a branch: the arithmetic hides behind the memory traffic.
// Largest errors seen: 1.7 ulp for x > 0, 2.6 ulp above -1, 5.2 ulp below, where the root mean
// square is 1.1 ulp.
// dispatch: gelu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void gelu(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Gelu(), y, rows * cols, i, x);
}
