// SELU: y = lambda x for x > 0, else lambda alpha (exp(x) - 1). Near zero exp(x) is rounded close
// to 1, and the subtraction would leave that error alone; exp_minus_one has full precision there,
// as the name of its kin expm1 in C says. Both sides are computed and one is selected: lanes do
// not part.
// dispatch: selu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void selu(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Selu(), y, rows * cols, i, x);
}
