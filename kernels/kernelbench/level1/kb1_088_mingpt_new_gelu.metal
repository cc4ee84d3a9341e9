// GELU by a hyperbolic tangent, four elements a thread: x times a logistic function, which needs one
// exponential and one division.
// dispatch: new_gelu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void new_gelu(
    device const float* x, device float* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(GeluTanh(), y, rows * cols, i, x);
}
