// Logistic function: y = 1 / (1 + exp(-x)). One form serves all x. For x far below zero exp(-x)
// overflows to infinity, and 1/infinity is 0, as it should be; nothing is ever subtracted, so
// nothing cancels.
// dispatch: sigmoid  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sigmoid(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Sigmoid(), y, rows * cols, i, x);
}
