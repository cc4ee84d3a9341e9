// Softsign: y = x / (1 + |x|), a sigmoid without exp. 1 + |x| rounds to |x| for large x, and the
// quotient is then exactly 1; near zero it is x. A true division: a product with an approximate
// reciprocal would be a rounding off.
// dispatch: softsign  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void softsign(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Softsign(), y, rows * cols, i, x);
}
