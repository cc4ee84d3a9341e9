// Swish, also called SiLU: y = x sigmoid(x) = x / (1 + exp(-x)): the product with the logistic
// function is a division by its denominator, one instead of two. Where exp(-x) overflows,
// x/infinity is the right zero.
// dispatch: swish  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void swish(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Silu(), y, rows * cols, i, x);
}
