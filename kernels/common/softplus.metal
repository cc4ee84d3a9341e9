// Softplus: log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)). The exponential is of a negative
// number, so it cannot overflow. For x far below zero the result is about exp(x), which 1 +
// exp(x) would drop: the logarithm is a series in e / (2 + e), accurate however small e is.
// dispatch: softplus  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void softplus(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Softplus(), y, rows * cols, i, x);
}
