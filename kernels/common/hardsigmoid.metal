// Hard sigmoid: y = clamp((x + 3) / 6, 0, 1). Adding 3 before dividing keeps the digits near x =
// -3, where the sum is exact; x/6 + 1/2 would have lost them in the quotient. The clamp compares
// instead of calling min and max, which drop NaN.
// dispatch: hardsigmoid  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void hardsigmoid(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(HardSigmoid(), y, rows * cols, i, x);
}
