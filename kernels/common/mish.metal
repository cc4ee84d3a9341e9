// Mish: y = x tanh(log(1 + exp(x))). With e = exp(x), tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 +
// e)^2 + 1) = n / (n + 2) for n = e (e + 2): one exponential and one division instead of exp, log
// and tanh, and no subtraction that could cancel. e is limited where the quotient has long been
// 1.
// dispatch: mish  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void mish(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Mish(), y, rows * cols, i, x);
}
