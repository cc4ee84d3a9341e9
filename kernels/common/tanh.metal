// Hyperbolic tangent, by the library's precise function. Fast tanh divides exp(x) - exp(-x) by
// their sum, which is infinity by infinity from |x| = 45 on; the precise one ends in 1 at every
// size of x, and is x itself near zero.
// dispatch: hyperbolic_tangent  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void hyperbolic_tangent(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Tanh(), y, rows * cols, i, x);
}
