// Clipping: y = min(max(x, low), high), by comparisons and selections. Metal's clamp does the
// same in one function, but what it makes of NaN is left open; a comparison with NaN is false, so
// that NaN goes through here as in MLX.
// dispatch: clip  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void clip(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Clip{-1.0f, 1.0f}, y, rows * cols, i, x);
}
