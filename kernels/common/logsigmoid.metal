// log(sigmoid(x)) = -softplus(-x) = min(x, 0) - log(1 + exp(-|x|)). The exponential is at most 1,
// so nothing overflows. For large x the result is about -exp(-x): a logarithm of 1 + exp(-x)
// would be 0 there, so it is taken by a series that keeps the small number.
// dispatch: logsigmoid  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void logsigmoid(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(LogSigmoid(), y, rows * cols, i, x);
}
