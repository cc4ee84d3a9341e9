// Hard tanh: y = max(-1, min(x, 1)), the three straight lines nearest to tanh: exact everywhere,
// with one selection for each end. It is the clip function as an activation, shared with the
// epilogues of matrix products.
// dispatch: hardtanh  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void hardtanh(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(HardTanh(), y, rows * cols, i, x);
}
