// Swish with a given slope: y = s sigmoid(beta s) for the sum s = x + a, here with beta = 2,
// as s / (1 + exp(-beta s)). Multiplying by a power of two is exact, so the slope adds no
// rounding to the argument of exp.
// dispatch: add_swish  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct AddSwish {
  template <typename T>
  T operator()(T x, T a) const {
    const T s = x + a;
    return 0.5f * Silu()(2.0f * s);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void add_swish(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(AddSwish(), y, n, i, x, a);
}
