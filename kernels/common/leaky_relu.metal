// Leaky ReLU: y = x for x >= 0, else slope x. Written as a selection between two values, not as
// max(x, slope x), so that it holds for slopes above 1 too and NaN stays NaN: Metal's max drops a
// NaN.
// dispatch: leaky_relu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void leaky_relu(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    constant float& slope, uint i [[thread_position_in_grid]]) {
  elementwise(LeakyRelu{slope}, y, rows * cols, i, x);
}
