// y = gelu(x a) with the exact GELU, one pass over memory. The product is rounded once in float
// before the activation; what that does to a tail far below zero, where relative errors grow with
// the square of the argument, is as in the definition.
// dispatch: mul_gelu  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct MulGelu {
  template <typename T>
  T operator()(T x, T a) const {
    return Gelu()(x * a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void mul_gelu(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(MulGelu(), y, n, i, x, a);
}
