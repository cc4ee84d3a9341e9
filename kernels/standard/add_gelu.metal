// y = gelu(x + a) with the exact GELU. Where the sum is negative the result is a small tail; it
// is computed to a few roundings of itself from the sum in float, so the error that remains is
// that of the sum.
// dispatch: add_gelu  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct AddGelu {
  template <typename T>
  T operator()(T x, T a) const {
    return Gelu()(x + a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void add_gelu(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(AddGelu(), y, n, i, x, a);
}
