// Hard swish: y = x clamp((x + 3) / 6, 0, 1), a swish of two straight lines and a parabola,
// without exp. The factor is exactly 0 up to -3 and exactly 1 from 3 on, so the outer parts are
// exact. Bound by memory: a thread moves four elements.
// dispatch: hardswish  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void hardswish(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(HardSwish(), y, rows * cols, i, x);
}
