// ELU: y = x for x > 0, else alpha (exp(x) - 1), here with alpha = 1. exp(x) - 1 as it stands
// loses all digits near zero, where ELU is about x; exp_minus_one takes a polynomial without
// constant term for the part that the exponent leaves, and adds the power of two afterwards.
// dispatch: elu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void elu(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Elu{1.0f}, y, rows * cols, i, x);
}
