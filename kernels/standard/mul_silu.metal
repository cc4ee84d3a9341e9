// y = silu(x a), a gated activation. The product may be far beyond the range of exp: for p = x a
// below -88 exp(-p) is infinite and p / (1 + exp(-p)) ends in the right zero.
// dispatch: mul_silu  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct MulSilu {
  template <typename T>
  T operator()(T x, T a) const {
    return Silu()(x * a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void mul_silu(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(MulSilu(), y, n, i, x, a);
}
