// ReLU: y = max(x, 0), and NaN stays NaN.
// Bandwidth is all that matters, so a thread moves four elements with one load and one store; the
// last thread does what is left element by element. No synchronisation, no threadgroup memory.
// The function itself is one of the activations that matrix products end in, too.
// dispatch: relu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void relu(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Relu(), y, rows * cols, i, x);
}
